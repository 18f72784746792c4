/// NarrowInputGradient: the gradient of a convolution with respect to an input of few channels (a grey or colour
/// image), NHWC. With so few, vectors across the input's channels would be nearly empty; so every pixel of the output's
/// gradient is multiplied with all taps at once, and the products are added where the taps lie.
#pragma once

#include "core/base/parallel.h"
#include "core/ops/conv/conv_shape.h"
#include "core/ops/gemm/gemm.h"

namespace emplace {

/// Immutable after construction. T: float, double.
template <class T>
class NarrowInputGradient {
 public:
  static bool suits(const ConvShape& s) { return s.groups() == 1 && s.in_c <= 4 && s.out_c >= 8; }

  NarrowInputGradient() = default;
  /// REQUIRES: suits(shape).
  explicit NarrowInputGradient(const ConvShape& shape);
  /// Elements of scratch that run() needs.
  int64_t scratch_size() const { return products_.packed_b_size(); }
  /// out_gradient [batch, out_h, out_w, out_c], filter [h, w, in_c, out_c], in_gradient [batch, in_h, in_w, in_c].
  /// The order of every sum depends on the shape only.
  void run(Parallel& parallel, const T* out_gradient, const T* filter, T* scratch, T* in_gradient) const;

 private:
  int64_t columns() const { return shape_.taps() * shape_.in_c; }
  void add_row(const T* products, int64_t oh, T* image) const;

  ConvShape shape_;
  gemm::Gemm<T> products_;  // of one row of pixels with all taps
};

extern template class NarrowInputGradient<float>;
extern template class NarrowInputGradient<double>;

}  // namespace emplace
