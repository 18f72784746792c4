/// FilterGradient: the gradient of a convolution with respect to its filter, NHWC: for every tap the product of the
/// input's pixels, transposed, with the output's gradient.
#pragma once

#include "core/base/parallel.h"
#include "core/ops/conv/conv_shape.h"

namespace emplace {

/// Immutable after construction. T: float, double.
template <class T>
class FilterGradient {
 public:
  explicit FilterGradient(const ConvShape& shape);
  /// Elements of scratch that run() needs.
  int64_t scratch_size() const;
  /// in [batch, in_h, in_w, in_c], out_gradient [batch, out_h, out_w, out_c], filter [h, w, in_c / groups, out_c].
  /// The order of every sum depends on the shape only.
  void run(Parallel& parallel, const T* in, const T* out_gradient, T* scratch, T* filter) const;

 private:
  struct Block;
  void look_ahead(const T* in, const T* gradient, int64_t end, Block& block) const;
  void add_block(const T* in, const T* gradient, const Block& block, int64_t unit, T* filter) const;

  ConvShape shape_;
  int rows_, cols_;
  int64_t group_out_, row_tiles_, panels_;
  bool looks_ahead_;
  int64_t gradient_step_;  // elements between pixels of the gradient, padded to whole vectors
};

extern template class FilterGradient<float>;
extern template class FilterGradient<double>;

}  // namespace emplace
