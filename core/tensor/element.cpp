#include "core/tensor/element.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/base/cat.h"

namespace emplace {
namespace {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

/// Rounded so that rounding the result again to fewer bits gives what rounding `v` would have given: if bits are
/// lost, the last one kept is 1.
float rounded_to_odd(double v) {
  auto nearest = static_cast<float>(v);
  if (static_cast<double>(nearest) == v || std::isnan(v) || std::isinf(nearest)) return nearest;
  if (std::bit_cast<uint32_t>(nearest) & 1) return nearest;
  float towards = static_cast<double>(nearest) < v ? std::numeric_limits<float>::infinity()
                                                   : -std::numeric_limits<float>::infinity();
  return std::nextafter(nearest, towards);
}

template <class T>
Status wrong(std::string_view word) {
  return invalid_argument(cat("'", word, "' is not of type ", dtype_name(dtype_of<T>)));
}
template <class T>
Status too_large(std::string_view word) {
  return invalid_argument(cat(word, " does not fit ", dtype_name(dtype_of<T>)));
}

std::string_view without_plus(std::string_view word) {
  bool plus = word.size() > 1 && word[0] == '+' && word[1] != '-' && word[1] != '+';
  return plus ? word.substr(1) : word;
}

template <class T>
Result<T> parse_integer(std::string_view word) {
  std::string_view digits = without_plus(word);
  T value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) return too_large<T>(word);
  if (std::is_unsigned_v<T> && error != std::errc() && parse_integer<int64_t>(word).ok()) return too_large<T>(word);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong<T>(word);
  return value;
}

template <class T>
Result<T> parse_real(std::string_view word) {
  std::string_view digits = without_plus(word);
  T value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) return wrong<T>(word);
  if (error == std::errc::result_out_of_range) {  // too large, or so small that it is 0 or nearly so
    value = static_cast<T>(std::strtod(std::string(digits).c_str(), nullptr));
    if (std::isinf(value)) return too_large<T>(word);
  }
  return value;
}

/// "1+2j", "2j", "1", "-0.5e-3-infj".
template <class T>
Result<std::complex<T>> parse_complex(std::string_view word) {
  using Complex = std::complex<T>;
  auto part = [&](std::string_view text, Result<T>& out) { return (out = parse_real<T>(text)).ok(); };
  Result<T> real = T{0}, imaginary = T{0};
  if (!word.ends_with('j')) return part(word, real) ? Result<Complex>(Complex(*real, 0)) : wrong<Complex>(word);
  std::string_view body = word.substr(0, word.size() - 1);
  if (part(body, imaginary)) return Complex(0, *imaginary);
  for (size_t at = body.size(); at-- > 1;) {
    bool splits = (body[at] == '+' || body[at] == '-') && body[at - 1] != 'e' && body[at - 1] != 'E';
    if (splits && part(body.substr(0, at), real) && part(body.substr(at), imaginary)) return Complex(*real, *imaginary);
  }
  return wrong<Complex>(word);
}

Result<bool> parse_bool(std::string_view word) {
  if (word == "true" || word == "True" || word == "1") return true;
  if (word == "false" || word == "False" || word == "0") return false;
  return wrong<bool>(word);
}

}  // namespace

template <class T>
T number_as(double v) {
  if constexpr (kIsHalf<T>)
    return T(rounded_to_odd(v));
  else if constexpr (IsComplex<T>::value)
    return T(static_cast<typename T::value_type>(v));
  else if constexpr (std::is_same_v<T, bool>)
    return v != 0;
  else if constexpr (std::is_same_v<T, std::string>)
    return {};
  else
    return static_cast<T>(v);
}

template <class T>
Result<T> parse_element(std::string_view word) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(word);
  } else if constexpr (std::is_same_v<T, bool>) {
    return parse_bool(word);
  } else if constexpr (IsComplex<T>::value) {
    return parse_complex<typename T::value_type>(word);
  } else if constexpr (kIsHalf<T>) {
    auto value = parse_real<double>(word);
    if (!value.ok()) return wrong<T>(word);
    T out = number_as<T>(*value);
    if (std::isfinite(*value) && !std::isfinite(static_cast<float>(out))) return too_large<T>(word);
    return out;
  } else if constexpr (std::is_floating_point_v<T>) {
    return parse_real<T>(word);
  } else {
    return parse_integer<T>(word);
  }
}

#define EMPLACE_ELEMENT(T)         \
  template T number_as<T>(double); \
  template Result<T> parse_element<T>(std::string_view);
EMPLACE_ELEMENT(float)
EMPLACE_ELEMENT(double)
EMPLACE_ELEMENT(half)
EMPLACE_ELEMENT(bfloat16)
EMPLACE_ELEMENT(int8_t)
EMPLACE_ELEMENT(int16_t)
EMPLACE_ELEMENT(int32_t)
EMPLACE_ELEMENT(int64_t)
EMPLACE_ELEMENT(uint8_t)
EMPLACE_ELEMENT(uint16_t)
EMPLACE_ELEMENT(uint32_t)
EMPLACE_ELEMENT(uint64_t)
EMPLACE_ELEMENT(bool)
EMPLACE_ELEMENT(std::complex<float>)
EMPLACE_ELEMENT(std::complex<double>)
EMPLACE_ELEMENT(std::string)
#undef EMPLACE_ELEMENT

}  // namespace emplace
