/// How far two tensors are from each other, element by element: in units of the last place, relative, and against a
/// tolerance. For one verdict and a message, core/tensor/compare.h is enough.
#pragma once

#include <cstdint>
#include <string>

#include "core/tensor/tensor.h"

namespace emplace {

struct Tolerance {
  double relative = 1e-5, absolute = 1e-8;  // |a - b| <= absolute + relative * |a|
};

struct TensorDifference {
  std::string misfit;    // types or shapes differ, or one side has no tensor: then nothing below is known
  bool known = true;     // false: of a type that has no elements to compare
  int64_t elements = 0;  // of each side
  int64_t unequal = 0;   // NaN equals NaN; +0 and -0 are one unit of the last place apart
  int64_t beyond = 0;    // of these, out of tolerance; integers, bools and strings have none
  int64_t worst = -1;    // flat index of the largest difference; -1: there is none
  std::string worst_at;  // "[3,17]"
  std::string worst_a, worst_b;
  double max_ulp = 0, mean_ulp = 0, p99_ulp = 0;  // over all elements where both are numbers; integers: their distance
  double max_relative = 0;                        // of finite ones, to a's size
  int64_t nan_a = 0, nan_b = 0;

  bool same() const { return misfit.empty() && unequal == 0; }
  bool within() const { return misfit.empty() && beyond == 0; }
};

/// REQUIRES: host memory. An invalid tensor (a dead one) equals an invalid one only.
TensorDifference tensor_difference(const Tensor& a, const Tensor& b, const Tolerance& tolerance);

}  // namespace emplace
