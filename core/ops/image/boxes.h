/// Boxes that overlap, and what non-maximum suppression is told beside them: for the kernels of CPU and GPU.
#pragma once

#include <algorithm>

#include "core/base/cat.h"
#include "core/op/kernel.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/isa.h"

namespace emplace {

/// Corners in any order; no area: overlaps nothing. As Eigen's mini and maxi: the first of two where one is no number.
struct ImageBox {
  float top, left, bottom, right;

  template <class T>
  EMPLACE_INLINE static ImageBox at(const T* p) {
    const auto a = static_cast<float>(p[0]), b = static_cast<float>(p[1]), c = static_cast<float>(p[2]),
               d = static_cast<float>(p[3]);
    return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
  }
  EMPLACE_INLINE float area() const { return (bottom - top) * (right - left); }
};

/// Intersection over union.
EMPLACE_INLINE float overlap(const ImageBox& a, const ImageBox& b) {
  const float area_a = a.area(), area_b = b.area();
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.0f);
  const float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0f);
  const float common = height * width;
  return common / (area_a + area_b - common);
}

/// Numbers of type T, as floats that hold nothing else.
template <class T>
float rounded(float x) {
  return static_cast<float>(T(x));
}

struct SuppressionLimits {
  float overlap_limit = 0.5f, score_limit = 0, sigma = 0;
  int64_t most = 0;  // boxes
};

inline Status scalar_limit(const KernelContext& c, int i, std::string_view name) {
  if (c.input(i).shape().rank() == 0) return ok_status();
  return invalid_argument(cat(name, " must be 0-D, got shape ", c.input(i).shape().to_string()));
}
inline float limit_of(const Tensor& t) {
  return t.dtype() == DType::kHalf ? static_cast<float>(*t.data<half>()) : *t.data<float>();
}

/// Those of boxes of type T, from the inputs behind boxes and scores. `overlap`: an attr's, where that is no input.
template <class T>
Result<SuppressionLimits> suppression_limits(const KernelContext& c, float overlap) {
  SuppressionLimits limits{overlap, static_cast<float>(Finite<T>::lowest()), 0, 0};
  RETURN_IF_ERROR(scalar_limit(c, 2, "max_output_size"));
  limits.most = *c.in<int32_t>(2);
  if (c.num_inputs() > 3) {
    RETURN_IF_ERROR(scalar_limit(c, 3, "iou_threshold"));
    limits.overlap_limit = rounded<T>(limit_of(c.input(3)));
  }
  if (!(limits.overlap_limit >= 0 && limits.overlap_limit <= 1))
    return invalid_argument("iou_threshold must be in [0, 1]");
  if (c.num_inputs() > 4) {
    RETURN_IF_ERROR(scalar_limit(c, 4, "score_threshold"));
    limits.score_limit = rounded<T>(limit_of(c.input(4)));
  }
  if (c.num_inputs() > 5) {
    RETURN_IF_ERROR(scalar_limit(c, 5, "soft_nms_sigma"));
    limits.sigma = limit_of(c.input(5));
    if (!(limits.sigma >= 0)) return invalid_argument("soft_nms_sigma_val must be >= 0");
  }
  return limits;
}

inline Status check_boxes(const Shape& boxes, const Shape& scores) {
  if (boxes.rank() != 2) {
    return invalid_argument(
        cat("boxes must be 2-D", boxes.to_string(), " (Shape must be rank 2 but is rank ", boxes.rank(), ")"));
  }
  if (boxes.dim(1) != 4)
    return invalid_argument(cat("boxes must have 4 columns (Dimension must be 4 but is ", boxes.dim(1), ")"));
  if (scores.rank() != 1) {
    return invalid_argument(
        cat("scores must be 1-D", scores.to_string(), " (Shape must be rank 1 but is rank ", scores.rank(), ")"));
  }
  if (scores.dim(0) != boxes.dim(0)) {
    return invalid_argument(cat("scores has incompatible shape (Dimensions must be equal, but are ", boxes.dim(0),
                                " and ", scores.dim(0), ")"));
  }
  if (boxes.dim(0) > INT32_MAX) return unimplemented(cat("non-maximum suppression of ", boxes.dim(0), " boxes"));
  return ok_status();
}

}  // namespace emplace
