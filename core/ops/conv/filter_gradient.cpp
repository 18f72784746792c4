#include "core/ops/conv/filter_gradient.h"

#include <algorithm>

#include "core/ops/gemm/tile.h"

namespace emplace {

template <class T>
FilterGradient<T>::FilterGradient(const ConvShape& shape) : shape_(shape) {
  const auto& kernel = gemm::kernels<T>();
  rows_ = kernel.max_rows;
  cols_ = kernel.max_cols;
  group_out_ = shape.out_c / std::max<int64_t>(1, shape.groups());
  row_tiles_ = (shape.filter_c + rows_ - 1) / rows_;
  panels_ = (group_out_ + cols_ - 1) / cols_;
  bool whole = shape.groups() == 1 && shape.out_c % kernel.vector == 0;
  gradient_step_ = whole ? shape.out_c : shape.out_c + cols_;
}

template <class T>
int64_t FilterGradient<T>::scratch_size() const {
  return gradient_step_ == shape_.out_c ? 0 : shape_.pixels() * gradient_step_;
}

// One tap, a tile of input channels, a panel of output channels: what image `n` adds, a run of pixels of one row at a time.
template <class T>
void FilterGradient<T>::run_unit(const T* in, const T* gradient, int64_t unit, int64_t n, T* filter) const {
  const ConvShape& s = shape_;
  const auto& kernel = gemm::kernels<T>();
  int64_t panel = unit % panels_, tile = unit / panels_ % row_tiles_;
  int64_t tap = unit / panels_ / row_tiles_ % s.taps(), group = unit / panels_ / row_tiles_ / s.taps();
  int64_t kh = tap / s.window_w, kw = tap % s.window_w;
  // Columns of the output whose source column lies in the image: first <= ow < last.
  int64_t offset = kw * s.dilation_w - s.pad_left;
  int64_t first = offset >= 0 ? 0 : (-offset + s.stride_w - 1) / s.stride_w;
  int64_t last = s.in_w - offset <= 0 ? 0 : std::min(s.out_w, (s.in_w - offset + s.stride_w - 1) / s.stride_w);
  gemm::TileArgs<T> t{};
  t.rows = static_cast<int>(std::min<int64_t>(rows_, s.filter_c - tile * rows_));
  t.cols = static_cast<int>(std::min<int64_t>(cols_, group_out_ - panel * cols_));
  t.taps = 1;
  t.depth = last - first;
  t.a_step = s.in_c * s.stride_w;
  t.b_step = gradient_step_;
  t.c = filter + (tap * s.filter_c + tile * rows_) * s.out_c + group * group_out_ + panel * cols_;
  t.c_step = s.out_c;
  for (int i = 0; n == 0 && i < t.rows; ++i) std::fill_n(t.c + i * t.c_step, t.cols, T(0));
  if (t.depth <= 0 || n >= s.batch) return;
  t.accumulate = true;
  for (int64_t oh = 0; oh < s.out_h; ++oh) {
    int64_t ih = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
    if (ih < 0 || ih >= s.in_h) continue;
    t.a = in + ((n * s.in_h + ih) * s.in_w + first * s.stride_w + offset) * s.in_c + group * s.filter_c + tile * rows_;
    t.b = gradient + ((n * s.out_h + oh) * s.out_w + first) * gradient_step_ + group * group_out_ + panel * cols_;
    kernel.tile(t);
  }
}

template <class T>
void FilterGradient<T>::run(Parallel& parallel, const T* in, const T* out_gradient, T* scratch, T* filter) const {
  const T* gradient = out_gradient;
  if (scratch_size() > 0) {  // so that whole vectors can be read at the end of every pixel
    parallel.run(shape_.pixels(), static_cast<double>(gradient_step_) * 0.3, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        T* to = std::copy_n(out_gradient + p * shape_.out_c, shape_.out_c, scratch + p * gradient_step_);
        std::fill(to, scratch + (p + 1) * gradient_step_, T(0));
      }
    });
    gradient = scratch;
  }
  // Few groups of units, so that an image that was read serves many of them while it is in cache.
  constexpr int64_t kGroups = 8;
  int64_t units = shape_.groups() * shape_.taps() * row_tiles_ * panels_, groups = std::min(units, kGroups);
  double cost_ns = static_cast<double>(shape_.pixels()) * rows_ * cols_ * 0.02 * static_cast<double>(units) / kGroups;
  parallel.run(groups, cost_ns, [&](int64_t begin, int64_t end) {
    for (int64_t n = 0; n < std::max<int64_t>(shape_.batch, 1); ++n) {
      for (int64_t unit = units * begin / groups; unit < units * end / groups; ++unit) {
        run_unit(in, gradient, unit, n, filter);
      }
    }
  });
}

template class FilterGradient<float>;
template class FilterGradient<double>;

}  // namespace emplace
