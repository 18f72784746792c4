#include "core/ops/text/parse_number.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace emplace {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// Of a number that is out of range: does its power of ten make it small?
bool too_small(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  if (e != text.npos) return e + 1 < text.size() && text[e + 1] == '-';
  return text.substr(0, 2) == "0." || text.starts_with('.');
}

template <class T>
std::optional<T> hexadecimal(std::string_view digits, bool negative) {
  T value{};
  if (digits.starts_with('-')) return std::nullopt;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::hex);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace

template <class T>
std::optional<T> parse_number(std::string_view text) {
  text = without_blanks(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  // A second sign is none; integers are read with theirs, since the smallest has no positive counterpart.
  if (text.empty() || text[0] == '-' || text[0] == '+') return std::nullopt;
  if (negative && std::is_unsigned_v<T>) return std::nullopt;
  const char* begin = text.data() - (negative ? 1 : 0);
  T value{};
  if constexpr (std::is_floating_point_v<T>) {
    if (text.starts_with("0x") || text.starts_with("0X")) return hexadecimal<T>(text.substr(2), negative);
  }
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (error == std::errc::result_out_of_range) {
      value = too_small(text) ? T(0) : std::numeric_limits<T>::infinity();
      return negative ? -value : value;
    }
  }
  if (error != std::errc()) return std::nullopt;
  return value;
}

template std::optional<int32_t> parse_number(std::string_view);
template std::optional<int64_t> parse_number(std::string_view);
template std::optional<uint32_t> parse_number(std::string_view);
template std::optional<uint64_t> parse_number(std::string_view);
template std::optional<float> parse_number(std::string_view);
template std::optional<double> parse_number(std::string_view);

}  // namespace emplace
