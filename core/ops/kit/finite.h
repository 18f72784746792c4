/// The range of a type's numbers without infinities: where searches for the largest or smallest begin in TensorFlow.
#pragma once

#include <limits>

#include "core/base/dtype.h"

namespace emplace {

template <class T>
struct Finite {
  static T lowest() { return std::numeric_limits<T>::lowest(); }
  static T highest() { return std::numeric_limits<T>::max(); }
};
template <>
struct Finite<half> {
  static half lowest() { return half(-65504.0f); }
  static half highest() { return half(65504.0f); }
};
template <>
struct Finite<bfloat16> {
  static bfloat16 lowest() { return bfloat16(-0x1.fep127f); }
  static bfloat16 highest() { return bfloat16(0x1.fep127f); }
};

}  // namespace emplace
