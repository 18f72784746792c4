#include "core/ops/conv/volume_filter_gradient.h"

#include <algorithm>

#include "core/base/scratch_vector.h"
#include "core/ops/conv/direct_conv_parts.h"
#include "core/ops/gemm/tile.h"

namespace emplace {
namespace {

// Pixels of the output whose rows of input and gradient are in cache while every tap and tile passes over them.
constexpr int64_t kBlockPixels = 256;

}  // namespace

template <class T>
VolumeFilterGradient<T>::VolumeFilterGradient(const VolumeConvShape& shape) : shape_(shape) {
  const gemm::Kernels<T>& kernel = gemm::kernels<T>();
  cols_ = kernel.max_cols;
  group_out_ = shape.out_c / std::max<int64_t>(1, shape.groups());
  row_tiles_ = pieces_of(shape.filter_c, kernel.max_rows);
  rows_ = static_cast<int>(row_tiles_ > 0 ? pieces_of(shape.filter_c, row_tiles_) : 1);
  panels_ = pieces_of(group_out_, cols_);
  const bool whole = shape.groups() == 1 && shape.out_c % gemm::kWidestVector<T> == 0;
  gradient_step_ = whole ? shape.out_c : shape.out_c + gemm::kWidestCols<T>;
}

template <class T>
int64_t VolumeFilterGradient<T>::scratch_size() const {
  return gradient_step_ == shape_.out_c ? 0 : shape_.pixels() * gradient_step_;
}

// One tap, a tile of input channels, a panel of output channels: what the rows of `block` add.
template <class T>
void VolumeFilterGradient<T>::add_block(const T* in, const T* gradient, const Block& block, int64_t unit,
                                        T* filter) const {
  const VolumeConvShape& s = shape_;
  const auto& [d, h, w] = s.axes;
  const int64_t tile = unit % row_tiles_, tap = unit / row_tiles_ % s.taps();
  const int64_t panel = unit / row_tiles_ / s.taps() % panels_, group = unit / row_tiles_ / s.taps() / panels_;
  const int64_t kd = tap / w.window / h.window, kh = tap / w.window % h.window;
  // Columns of the output whose source column lies in the volume: first <= x < last.
  const int64_t offset = tap % w.window * w.dilation - w.pad;
  const int64_t first = offset >= 0 ? 0 : pieces_of(-offset, w.stride);
  const int64_t last = w.in - offset <= 0 ? 0 : std::min(w.out, pieces_of(w.in - offset, w.stride));
  gemm::TileArgs<T> t{};
  t.rows = static_cast<int>(std::min<int64_t>(rows_, s.filter_c - tile * rows_));
  t.cols = static_cast<int>(std::min<int64_t>(cols_, group_out_ - panel * cols_));
  t.depth = last - first;
  t.a = in + group * s.filter_c + tile * rows_;
  t.a_offsets = block.in_offsets;
  t.a_step = s.in_c * w.stride;
  t.b = gradient + group * group_out_ + panel * cols_;
  t.b_offsets = block.gradient_offsets;
  t.b_step = gradient_step_;
  t.c = filter + (tap * s.filter_c + tile * rows_) * s.out_c + group * group_out_ + panel * cols_;
  t.c_step = s.out_c;
  t.accumulate = block.first > 0;
  for (int64_t row = block.first; row < block.last && first < last; ++row) {
    const int64_t z = row / h.out % d.out * d.stride - d.pad + kd * d.dilation;
    const int64_t y = row % h.out * h.stride - h.pad + kh * h.dilation;
    if (z < 0 || z >= d.in || y < 0 || y >= h.in) continue;
    const int64_t line = (row / h.out / d.out * d.in + z) * h.in + y;
    block.in_offsets[t.taps] = (line * w.in + first * w.stride + offset) * s.in_c;
    block.gradient_offsets[t.taps++] = (row * w.out + first) * gradient_step_;
  }
  if (t.taps > 0 || !t.accumulate) gemm::kernels<T>().tile(t);
}

template <class T>
void VolumeFilterGradient<T>::run(Parallel& parallel, const T* in, const T* out_gradient, T* scratch, T* filter) const {
  const T* gradient = out_gradient;
  if (scratch_size() > 0) {
    parallel.run(shape_.pixels(), static_cast<double>(gradient_step_) * 0.3, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        T* to = std::copy_n(out_gradient + p * shape_.out_c, shape_.out_c, scratch + p * gradient_step_);
        std::fill(to, scratch + (p + 1) * gradient_step_, T(0));
      }
    });
    gradient = scratch;
  }
  const int64_t width = std::max<int64_t>(1, shape_.axes[2].out), rows = shape_.pixels() / width;
  const int64_t block_rows = std::max<int64_t>(1, kBlockPixels / width);
  const int64_t units = shape_.groups() * shape_.taps() * row_tiles_ * panels_;
  const double cost = static_cast<double>(shape_.pixels()) * rows_ * cols_ * 0.02;
  parallel.run(units, cost, [&](int64_t begin, int64_t end) {
    ScratchVector<int64_t> offsets(static_cast<size_t>(2 * block_rows));
    Block block{0, 0, offsets.data(), offsets.data() + block_rows};
    do {  // once at least: without a pixel the gradient is 0
      block.last = std::min(rows, block.first + block_rows);
      for (int64_t unit = begin; unit < end; ++unit) add_block(in, gradient, block, unit, filter);
      block.first = block.last;
    } while (block.first < rows);
  });
}

template class VolumeFilterGradient<float>;
template class VolumeFilterGradient<double>;

}  // namespace emplace
