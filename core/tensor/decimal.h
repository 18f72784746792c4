/// Decimal: the shortest decimal digits that identify a floating-point number, and NumPy's two ways to write them
/// (numpy/_core/src/multiarray/dragon4.c).
#pragma once

#include <string>

#include "core/base/dtype.h"

namespace emplace {

/// How trailing zeros end.
enum class Trim {
  kKeep,     // all of them
  kPoint,    // "1."
  kOneZero,  // "1.0"
  kNothing,  // "1"
};

/// A finite number. `T`: half, float or double.
struct Decimal {
  bool negative = false;
  std::string digits;  // without leading zeros; "0" for zero
  int exponent = 0;    // of the first digit: digits[0].digits[1]... * 10^exponent
  double value = 0;    // exact

  template <class T>
  static Decimal shortest(T value);
};

/// "12.5", at most `precision` digits after the point (-1: all), rounded from the exact value.
std::string positional(const Decimal& d, int precision, Trim trim);
/// "1.25e+01": `precision` as above, at least `min_digits` after the point (of the exact
/// value, where the shortest digits are fewer) and `exponent_digits` in the exponent.
std::string scientific(const Decimal& d, int precision, int min_digits, int exponent_digits, Trim trim);

}  // namespace emplace
