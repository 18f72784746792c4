#include "core/formats/checkpoint/tensor_slice.h"

#include <bit>

namespace emplace {
namespace {

/// A signed number whose bytes sort as the numbers do, off the front.
std::optional<int64_t> take_ordered(std::string_view& bytes) {
  if (bytes.empty()) return std::nullopt;
  const auto first = static_cast<uint8_t>(bytes.front());
  const bool negative = first < 0x80;
  const auto bits = static_cast<uint8_t>(negative ? ~first : first);
  size_t length = static_cast<size_t>(std::countl_one(bits));
  if (length == 8 && bytes.size() > 1) {  // the row of ones goes on in the next byte
    const auto second = static_cast<uint8_t>(negative ? ~bytes[1] : bytes[1]);
    length += static_cast<size_t>(std::countl_one(second));
  }
  if (length == 0 || length > 10 || bytes.size() < length) return std::nullopt;
  uint64_t value = negative ? ~uint64_t{0} : 0;
  for (size_t i = 0; i < length; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  bytes.remove_prefix(length);
  // Of n bytes the first n bits say so, and the next is the sign.
  if (length < 10)
    value ^= (~uint64_t{0} << (7 * length)) & (length >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * length) - 1);
  const uint64_t sign = uint64_t{1} << (7 * length - 1 < 63 ? 7 * length - 1 : 63);
  if (negative) value |= ~(sign - 1);
  return static_cast<int64_t>(value);
}

/// The number of bits that a number needs beside its sign says how many bytes it takes: seven bits in each, of which
/// the first ones say how many there are.
void put_ordered(std::string& out, int64_t value) {
  const auto bits = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int length = (static_cast<int>(std::bit_width(bits)) + 1 + 6) / 7;
  char bytes[10];
  for (int i = 0; i < 10; ++i) {
    const int shift = 8 * (9 - i);
    bytes[i] = static_cast<char>(shift >= 64 ? (value < 0 ? 0xff : 0) : value >> shift);
  }
  char* begin = bytes + 10 - length;
  const unsigned header = length < 8 ? 0xff00u >> length & 0xffu : 0xffu;
  begin[0] = static_cast<char>(static_cast<unsigned char>(begin[0]) ^ header);
  if (length > 8) {
    const unsigned second = length == 9 ? 0x80u : 0xc0u;
    begin[1] = static_cast<char>(static_cast<unsigned char>(begin[1]) ^ second);
  }
  out.append(begin, static_cast<size_t>(length));
}

}  // namespace

std::optional<Shape> TensorSlice::shape_in(const Shape& whole) const {
  if (start.empty()) return whole;
  if (static_cast<int>(start.size()) != whole.rank()) return std::nullopt;
  Shape out = whole;
  for (int i = 0; i < whole.rank(); ++i) {
    const auto d = static_cast<size_t>(i);
    const int64_t size = length[d] < 0 ? whole.dim(i) : length[d];
    if (start[d] < 0 || start[d] > whole.dim(i) || size > whole.dim(i) - start[d]) return std::nullopt;
    out.dim(i) = size;
  }
  return out;
}

bool is_all_of(const TensorSlice& slice, const Shape& whole, size_t d) {
  return slice.length[d] < 0 || (slice.start[d] == 0 && slice.length[d] == whole.dim(static_cast<int>(d)));
}

std::string slice_key(std::string_view name, const TensorSlice& slice, const Shape& whole) {
  std::string key(1, '\0');
  for (char c : name) {
    key += c;
    if (c == '\0') key += '\xff';
    if (c == '\xff') key += '\0';
  }
  key += std::string_view("\0\1", 2);
  if (slice.start.empty()) {
    key += '\0';
  } else {
    key += '\1';
    key += static_cast<char>(slice.start.size());
  }
  for (size_t d = 0; d < slice.start.size(); ++d) {
    const bool all = is_all_of(slice, whole, d);
    put_ordered(key, all ? 0 : slice.start[d]);
    put_ordered(key, all ? -1 : slice.length[d]);
  }
  return key;
}

std::optional<std::pair<std::string, TensorSlice>> parse_slice_key(std::string_view key) {
  if (key.empty() || key.front() != '\0') return std::nullopt;
  key.remove_prefix(1);
  std::string name;
  for (;;) {
    if (key.size() < 2) return std::nullopt;
    const char c = key[0], next = key[1];
    if (c == '\0' && next == '\1') break;
    if (c == '\0' && next == '\xff') {
      name += '\0', key.remove_prefix(2);
    } else if (c == '\xff' && next == '\0') {
      name += '\xff', key.remove_prefix(2);
    } else if (c == '\0' || c == '\xff') {
      return std::nullopt;
    } else {
      name += c, key.remove_prefix(1);
    }
  }
  key.remove_prefix(2);
  // The number of dimensions: how many bytes it takes, then those.
  if (key.empty()) return std::nullopt;
  const auto size = static_cast<uint8_t>(key.front());
  if (size > 1 || key.size() < 1u + size) return std::nullopt;
  const int dims = size == 0 ? 0 : static_cast<uint8_t>(key[1]);
  key.remove_prefix(1 + size);
  TensorSlice slice;
  for (int i = 0; i < dims; ++i) {
    const auto start = take_ordered(key), length = take_ordered(key);
    if (!start || !length) return std::nullopt;
    slice.start.push_back(*start);
    slice.length.push_back(*length);
  }
  if (!key.empty()) return std::nullopt;
  return std::pair(std::move(name), std::move(slice));
}

}  // namespace emplace
