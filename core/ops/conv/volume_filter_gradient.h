/// VolumeFilterGradient: the gradient of a 3-D convolution with respect to its filter, NDHWC: for every tap the product
/// of what it read, transposed, with the output's gradient.
#pragma once

#include "core/base/parallel.h"
#include "core/ops/conv/volume_shape.h"

namespace emplace {

/// Immutable after construction. T: float, double.
template <class T>
class VolumeFilterGradient {
 public:
  explicit VolumeFilterGradient(const VolumeConvShape& shape);
  /// Elements of scratch that run() needs, the same on every processor.
  int64_t scratch_size() const;
  /// in [batch, d, h, w, in_c], out_gradient [batch, d, h, w, out_c], filter [d, h, w, in_c / groups, out_c]. The order
  /// of every sum depends on the shape only.
  void run(Parallel& parallel, const T* in, const T* out_gradient, T* scratch, T* filter) const;

 private:
  /// Rows of the output, those of all volumes counted through, and room for where they begin.
  struct Block {
    int64_t first, last;
    int64_t *in_offsets, *gradient_offsets;
  };
  void add_block(const T* in, const T* gradient, const Block& block, int64_t unit, T* filter) const;

  VolumeConvShape shape_;
  int rows_, cols_;
  int64_t group_out_, row_tiles_, panels_;
  int64_t gradient_step_;  // elements between pixels of the gradient, padded so that whole vectors can be read
};

extern template class VolumeFilterGradient<float>;
extern template class VolumeFilterGradient<double>;

}  // namespace emplace
