#include "core/formats/element_buffer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/base/tiny_float.h"
#include "core/tensor/texts.h"

namespace emplace {
namespace {

// The C++ type in which elements of a type are stored, as an argument of f.
template <class F>
Status with_storage(DType t, const F& f) {
  switch (t) {
    case DType::kFloat:
    case DType::kComplex64:
      return f(float{});
    case DType::kDouble:
    case DType::kComplex128:
      return f(double{});
    case DType::kHalf:
      return f(half{});
    case DType::kBFloat16:
      return f(bfloat16{});
    case DType::kInt8:
    case DType::kInt4:
    case DType::kInt2:
    case DType::kQInt8:
      return f(int8_t{});
    case DType::kUInt8:
    case DType::kUInt4:
    case DType::kUInt2:
    case DType::kQUInt8:
      return f(uint8_t{});
    case DType::kInt16:
    case DType::kQInt16:
      return f(int16_t{});
    case DType::kUInt16:
    case DType::kQUInt16:
      return f(uint16_t{});
    case DType::kInt32:
    case DType::kQInt32:
      return f(int32_t{});
    case DType::kUInt32:
      return f(uint32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kUInt64:
      return f(uint64_t{});
    case DType::kBool:
      return f(bool{});
    default:
      return invalid_argument(cat("values of type ", dtype_tf_name(t), " cannot be written in a graph file"));
  }
}

Status out_of_range_of(std::string_view shown, DType t) {
  return invalid_argument(cat(shown, " is out of the range of ", dtype_name(t)));
}

Status wrong_kind(std::string_view shown, DType t) {
  const bool is_int = dtype_name(t).starts_with('i');
  return invalid_argument(cat("found ", shown, is_int ? " in an " : " in a ", dtype_name(t), " tensor"));
}

std::string quoted(std::string_view text) {
  return text.size() > 40 ? cat("\"", text.substr(0, 37), "...\"") : cat("\"", text, "\"");
}

bool is_whole(std::string_view number) { return number.find_first_of(".eE") == std::string_view::npos; }

}  // namespace

Result<double> number_as_double(std::string_view number) {
  double value = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(number).c_str(), nullptr);  // tells too large from too small
    if (std::isinf(value)) return invalid_argument(cat(number.substr(0, 40), " is out of the range of float64"));
  } else if (error != std::errc() || end != number.data() + number.size()) {
    return invalid_argument(cat("found ", quoted(number), ", wanted a number"));
  }
  return value;
}

Result<int64_t> number_as_int64(std::string_view number) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc() && end == number.data() + number.size()) return value;
  ASSIGN_OR_RETURN(double d, number_as_double(number));
  if (d != std::floor(d)) return invalid_argument(cat("found ", number.substr(0, 40), ", wanted a whole number"));
  if (error == std::errc::result_out_of_range || !(d >= -0x1p63 && d < 0x1p63)) {
    return invalid_argument(cat(number.substr(0, 40), " is out of the range of int64"));
  }
  return static_cast<int64_t>(d);
}

bool parse_non_finite(std::string_view text, double& value) {
  if (text == "NaN")
    value = std::numeric_limits<double>::quiet_NaN();
  else if (text == "Infinity")
    value = std::numeric_limits<double>::infinity();
  else if (text == "-Infinity")
    value = -std::numeric_limits<double>::infinity();
  else
    return false;
  return true;
}

Status ElementBuffer::make_room(size_t more) {
  constexpr size_t kSmall = 4096;  // not worth counting
  const size_t room = std::max(2 * bytes_.capacity(), bytes_.size() + more);
  if (room > kSmall) RETURN_IF_ERROR(memory_.resize(static_cast<int64_t>(room)));
  bytes_.reserve(room);
  return ok_status();
}

template <class T>
Status ElementBuffer::put(T value) {
  if (bytes_.capacity() - bytes_.size() < sizeof value) RETURN_IF_ERROR(make_room(sizeof value));
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  ++size_;
  return ok_status();
}

Status ElementBuffer::add_double(double value, std::string_view shown) {
  if (kTinyFloats.has(dtype_)) {
    const uint8_t bits = tiny_float_bits(dtype_, static_cast<float>(value));
    if (std::isfinite(value) && !std::isfinite(tiny_float_value(dtype_, bits))) return out_of_range_of(shown, dtype_);
    return put(bits);
  }
  if (kTinyInts.has(dtype_) && value == std::floor(value) && std::fabs(value) < 256)
    return add_integer(static_cast<int64_t>(value), shown);
  return with_storage(dtype_, [&]<class T>(T) -> Status {
    if constexpr (std::is_same_v<T, bool>) {
      return wrong_kind(shown, dtype_);
    } else if constexpr (std::is_integral_v<T>) {
      if (value != std::floor(value)) return wrong_kind(shown, dtype_);
      // The bounds are powers of two (or zero), so they are exact in double.
      constexpr T kHalf = std::numeric_limits<T>::max() / 2 + 1;
      constexpr double kAbove = static_cast<double>(kHalf) * 2;
      if (!(value >= static_cast<double>(std::numeric_limits<T>::min()) && value < kAbove))
        return out_of_range_of(shown, dtype_);
      return put(static_cast<T>(value));
    } else {
      float narrow = static_cast<float>(value);
      if constexpr (!std::is_same_v<T, double> && !std::is_same_v<T, float>) narrow = static_cast<float>(T(narrow));
      if (!std::is_same_v<T, double> && std::isinf(narrow) && !std::isinf(value)) return out_of_range_of(shown, dtype_);
      if constexpr (std::is_same_v<T, double>) return put(value);
      return put(T(static_cast<float>(value)));
    }
  });
}

Status ElementBuffer::add_integer(int64_t value, std::string_view shown) {
  if (kTinyInts.has(dtype_) && tiny_int(dtype_, static_cast<int32_t>(value & 0xff)) != value)
    return out_of_range_of(shown, dtype_);
  return with_storage(dtype_, [&]<class T>(T) -> Status {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if constexpr (sizeof(T) < 8) {
        if (value < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
            value > static_cast<int64_t>(std::numeric_limits<T>::max())) {
          return out_of_range_of(shown, dtype_);
        }
      } else if (std::is_unsigned_v<T> && value < 0) {
        return out_of_range_of(shown, dtype_);
      }
      return put(static_cast<T>(value));
    } else {
      return add_double(static_cast<double>(value), shown);
    }
  });
}

void ElementBuffer::widen_to_double() {
  auto count = static_cast<size_t>(size_);
  for (size_t i = 0; i < count; ++i) {
    int64_t whole = 0;
    std::memcpy(&whole, bytes_.data() + i * sizeof whole, sizeof whole);
    auto wide = static_cast<double>(whole);
    std::memcpy(bytes_.data() + i * sizeof wide, &wide, sizeof wide);
  }
  dtype_ = DType::kDouble;
}

Status ElementBuffer::add_number(std::string_view number) {
  if (open_ && (dtype_ == DType::kInvalid || dtype_ == DType::kInt64)) {
    int64_t whole = 0;
    bool fits =
        is_whole(number) && std::from_chars(number.data(), number.data() + number.size(), whole).ec == std::errc();
    if (dtype_ == DType::kInvalid) dtype_ = fits ? DType::kInt64 : DType::kDouble;
    if (!fits && dtype_ == DType::kInt64) widen_to_double();
  }
  if (dtype_ == DType::kString) return wrong_kind(number, dtype_);
  if (is_integer(dtype_) || is_quantized(dtype_)) {
    if (dtype_ == DType::kUInt64) {
      uint64_t whole = 0;
      auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), whole);
      if (error == std::errc() && end == number.data() + number.size()) return put(whole);
    }
    int64_t whole = 0;
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), whole);
    if (error == std::errc() && end == number.data() + number.size()) return add_integer(whole, number);
    if (error == std::errc::result_out_of_range && is_whole(number))
      return out_of_range_of(number.substr(0, 40), dtype_);
  }
  ASSIGN_OR_RETURN(double value, number_as_double(number));
  return add_double(value, number.substr(0, 40));
}

Status ElementBuffer::add_bool(bool value) {
  if (dtype_ == DType::kInvalid) dtype_ = DType::kBool;
  if (dtype_ != DType::kBool) return wrong_kind(value ? "true" : "false", dtype_);
  return put(value);
}

Status ElementBuffer::add_text(std::string_view text) {
  if (dtype_ == DType::kInvalid) dtype_ = DType::kString;
  if (dtype_ == DType::kString) {
    const auto taken = static_cast<int64_t>(sizeof(std::string) + text.size());
    if (text.size() > 4096 || texts_.size() == texts_.capacity())
      RETURN_IF_ERROR(
          memory_.resize(memory_.bytes() + taken + static_cast<int64_t>(texts_.size() * sizeof(std::string))));
    texts_.emplace_back(text);
    ++size_;
    return ok_status();
  }
  double value = 0;
  bool number = parse_non_finite(text, value);
  if (number && open_ && dtype_ == DType::kInt64) widen_to_double();
  if (number && (is_floating(dtype_) || is_complex(dtype_))) return add_double(value, text);
  return wrong_kind(quoted(text), dtype_);
}

Status ElementBuffer::add_quoted_number(std::string_view text) {
  double value = 0;
  if (dtype_ == DType::kString || parse_non_finite(text, value)) return add_text(text);
  return add_number(text);
}

Status ElementBuffer::add_bits(uint16_t bits) { return put(bits); }

Result<Tensor> ElementBuffer::to_tensor(const Shape& shape) const {
  ASSIGN_OR_RETURN(Tensor t, Tensor::allocate(dtype_, shape));
  if (t.num_elements() == 0) return t;
  EMPLACE_ASSERT(size_ > 0, "the caller has at least one element");
  if (dtype_ == DType::kString) {
    const int64_t written = std::min(size_, t.num_elements());
    std::copy_n(texts_.begin(), written, t.data<std::string>());
    RETURN_IF_ERROR(repeat_text(t, written, texts_[static_cast<size_t>(written - 1)]));
    return t;
  }
  size_t element = dtype_size(dtype_);
  size_t have = std::min(bytes_.size() / element * element, t.size_bytes());
  EMPLACE_ASSERT(have >= element, "entries come in whole elements");
  char* out = static_cast<char*>(t.raw());
  std::memcpy(out, bytes_.data(), have);
  // Doubles what is there and repeats it: the tail is the last element over and over.
  char* last = out + have - element;
  for (size_t filled = element, left = t.size_bytes() - have; left > 0;) {
    size_t n = std::min(filled, left);
    std::memcpy(last + filled, last, n);
    filled += n;
    left -= n;
  }
  return t;
}

}  // namespace emplace
