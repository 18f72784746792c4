/// What CheckNumerics says of values that are not finite, on every device.
#pragma once

#include <string_view>

namespace emplace {

/// Kinds of them, to be or-ed.
enum Unsound : unsigned { kNan = 1, kNegative = 2, kPositive = 4 };

/// "Inf and NaN", in TensorFlow's words. The first version of the op does not tell the infinities apart.
inline std::string_view unsound_text(unsigned found, bool with_signs) {
  if (!with_signs) return found == kNan ? "NaN" : (found & kNan) != 0 ? "Inf and NaN" : "Inf";
  switch (found) {
    case kNan:
      return "NaN";
    case kNegative:
      return "-Inf";
    case kPositive:
      return "+Inf";
    case kNegative | kPositive:
      return "-Inf and +Inf";
    case kNan | kNegative:
      return "-Inf and NaN";
    case kNan | kPositive:
      return "+Inf and NaN";
    default:
      return "-Inf, +Inf, and NaN";
  }
}

}  // namespace emplace
