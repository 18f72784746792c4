/// What kernels use of the C++ library, for NVRTC, which has none: included first, in place of the library's headers
/// (cuda/chain_source.cpp). The mathematical functions are NVRTC's own.
#pragma once

using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long;

namespace std {

using ::acos;
using ::acosh;
using ::asin;
using ::asinh;
using ::atan;
using ::atan2;
using ::atanh;
using ::ceil;
using ::copysign;
using ::cos;
using ::cosh;
using ::erf;
using ::erfc;
using ::exp;
using ::expm1;
using ::fabs;
using ::floor;
using ::fmod;
using ::hypot;
using ::log;
using ::log1p;
using ::pow;
using ::rint;
using ::sin;
using ::sinh;
using ::sqrt;
using ::tan;
using ::tanh;
using ::trunc;

template <class T, class U>
inline constexpr bool is_same_v = false;
template <class T>
inline constexpr bool is_same_v<T, T> = true;

template <class T, class... List>
inline constexpr bool is_one_of = (is_same_v<T, List> || ...);
template <class T>
inline constexpr bool is_signed_v = is_one_of<T, int8_t, int16_t, int32_t, int64_t, float, double>;
template <class T>
inline constexpr bool is_floating_point_v = is_one_of<T, float, double>;
template <class T>
inline constexpr bool is_integral_v =
    is_one_of<T, bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
template <class T>
inline constexpr bool is_empty_v = __is_empty(T);

template <bool kFirst, class T, class U>
struct conditional {
  using type = T;
};
template <class T, class U>
struct conditional<false, T, U> {
  using type = U;
};
template <bool kFirst, class T, class U>
using conditional_t = typename conditional<kFirst, T, U>::type;

template <class T>
T&& declval();

template <class T>
struct numeric_limits;
template <>
struct numeric_limits<float> {
  static constexpr float max() { return 0x1.fffffep127f; }
  static constexpr float infinity() { return __builtin_bit_cast(float, 0x7f800000u); }
};
template <>
struct numeric_limits<double> {
  static constexpr double max() { return 0x1.fffffffffffffp1023; }
  static constexpr double infinity() { return __builtin_bit_cast(double, 0x7ff0000000000000ul); }
};

}  // namespace std
