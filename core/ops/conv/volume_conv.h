/// VolumeConv: 3-D convolution, NDHWC, and its gradient with respect to what it reads, on the tile kernels of
/// core/ops/gemm: pixels of one row stay in registers while every tap that they see is added through a pointer per
/// pixel. Nothing is unrolled in memory, and taps outside the volume (or between strides) cost nothing but at a row's
/// ends.
#pragma once

#include <vector>

#include "core/base/parallel.h"
#include "core/ops/conv/conv_walk.h"
#include "core/ops/conv/volume_shape.h"
#include "core/ops/gemm/tile.h"

namespace emplace {

/// Immutable after construction; any thread may use it. T: float, double. The order of every sum depends on the shape
/// only.
template <class T>
class VolumeConv {
 public:
  VolumeConv() = default;
  /// in [batch, depth, height, width, in_c] to out of the same kind.
  static VolumeConv forward(const VolumeConvShape& shape);
  /// in: the gradient of what forward() writes, out: that of what it reads.
  static VolumeConv input_gradient(const VolumeConvShape& shape);

  /// Elements of the filter rearranged into panels, the same on every processor.
  int64_t packed_filter_size() const;
  /// `filter` [d, h, w, in_c / groups, out_c] of the convolution; `packed` 64-byte aligned.
  void pack_filter(Parallel& parallel, const T* filter, T* packed) const;
  void run(Parallel& parallel, const T* in, const T* packed_filter, T* out) const;

 private:
  /// Of a tile: by tap and pixel where what they multiply begins, and by tap where its part of the filter does.
  struct SeenTaps {
    std::vector<const T*> pointers;
    std::vector<int64_t> offsets;
  };

  VolumeConv(const VolumeConvShape& shape, bool backward);
  int64_t taps() const { return axes_[0].window * axes_[1].window * axes_[2].window; }
  int64_t panel_size() const { return cols_ * taps() * depth_; }
  /// Pixels of a row of the output that lie a stride of the gradient apart see the same taps: so many such sets.
  int64_t phases() const { return std::min(axes_[2].divide, axes_[2].out); }
  int64_t tiles_of_phase() const;
  void run_tile(const T* in, const T* packed, T* out, int64_t index, SeenTaps& seen) const;
  void see_taps(gemm::TileArgs<T>& t, const T* image, int64_t z, int64_t y, int64_t x, SeenTaps& seen) const;
  void multiply(gemm::TileArgs<T>& t, const T* packed, T* out, SeenTaps& seen) const;

  int64_t batch_ = 0, in_c_ = 0, out_c_ = 0, groups_ = 1, depth_ = 0, group_out_ = 0;
  std::array<ConvAxis, 3> axes_;
  bool backward_ = false;  // taps count from the window's end
  int rows_ = 1, cols_ = 1;
  int64_t panels_ = 0;  // per group
  std::vector<T> zeros_;
};

extern template class VolumeConv<float>;
extern template class VolumeConv<double>;

}  // namespace emplace
