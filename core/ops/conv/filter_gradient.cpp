#include "core/ops/conv/filter_gradient.h"

#include <algorithm>

#include "core/base/scratch_vector.h"
#include "core/ops/gemm/ahead.h"
#include "core/ops/gemm/processors.h"

namespace emplace {
namespace {

// Pixels of the output whose rows of input and gradient are in cache while every tap and tile passes over them.
constexpr int64_t kBlockPixels = 256;
// Units are handed out in few groups: a worker reads the whole batch for each.
constexpr int64_t kGroups = 8;

}  // namespace

/// Rows [first, last) of the output, those of all images counted through; and room for where they begin. Unit `unit` of
/// `units` that pass over it asks for its share of what the next block reads.
template <class T>
struct FilterGradient<T>::Block {
  int64_t first = 0, last = 0;
  int64_t unit = 0, units = 1;
  int64_t products = 0;  // of a unit, but for what lies outside the image
  gemm::Ahead in_ahead, gradient_ahead;
  int64_t *in_offsets = nullptr, *gradient_offsets = nullptr;
};

template <class T>
FilterGradient<T>::FilterGradient(const ConvShape& shape) : shape_(shape) {
  const auto& kernel = gemm::kernels<T>();
  cols_ = kernel.max_cols;
  group_out_ = shape.out_c / std::max<int64_t>(1, shape.groups());
  row_tiles_ = (shape.filter_c + kernel.max_rows - 1) / kernel.max_rows;
  rows_ = static_cast<int>(row_tiles_ > 0 ? (shape.filter_c + row_tiles_ - 1) / row_tiles_ : 1);  // 32 are 11 + 11 + 10
  panels_ = (group_out_ + cols_ - 1) / cols_;
  bool whole = shape.groups() == 1 && shape.out_c % kernel.vector == 0;
  gradient_step_ = whole ? shape.out_c : shape.out_c + cols_;
  const int64_t read = shape.batch * shape.in_h * shape.in_w * shape.in_c + shape.pixels() * gradient_step_;
  looks_ahead_ = read * static_cast<int64_t>(sizeof(T)) > gemm::processor().last_bytes;
}

template <class T>
int64_t FilterGradient<T>::scratch_size() const {
  return gradient_step_ == shape_.out_c ? 0 : shape_.pixels() * gradient_step_;
}

// One tap, a tile of input channels, a panel of output channels: what the rows of `block` add.
template <class T>
void FilterGradient<T>::add_block(const T* in, const T* gradient, const Block& block, int64_t unit, T* filter) const {
  const ConvShape& s = shape_;
  int64_t tile = unit % row_tiles_, tap = unit / row_tiles_ % s.taps();
  int64_t panel = unit / row_tiles_ / s.taps() % panels_, group = unit / row_tiles_ / s.taps() / panels_;
  int64_t kh = tap / s.window_w, kw = tap % s.window_w;
  // Columns of the output whose source column lies in the image: first <= ow < last.
  int64_t offset = kw * s.dilation_w - s.pad_left;
  int64_t first = offset >= 0 ? 0 : (-offset + s.stride_w - 1) / s.stride_w;
  int64_t last = s.in_w - offset <= 0 ? 0 : std::min(s.out_w, (s.in_w - offset + s.stride_w - 1) / s.stride_w);
  gemm::TileArgs<T> t{};
  t.rows = static_cast<int>(std::min<int64_t>(rows_, s.filter_c - tile * rows_));
  t.cols = static_cast<int>(std::min<int64_t>(cols_, group_out_ - panel * cols_));
  t.depth = last - first;
  t.a = in + group * s.filter_c + tile * rows_;
  t.a_offsets = block.in_offsets;
  t.a_step = s.in_c * s.stride_w;
  t.b = gradient + group * group_out_ + panel * cols_;
  t.b_offsets = block.gradient_offsets;
  t.b_step = gradient_step_;
  t.c = filter + (tap * s.filter_c + tile * rows_) * s.out_c + group * group_out_ + panel * cols_;
  t.c_step = s.out_c;
  t.accumulate = block.first > 0;
  t.ahead[0] = after(block.gradient_ahead, block.unit * block.products);
  t.ahead[1] = after(block.in_ahead, block.unit * block.products);
  if (block.gradient_ahead.at) t.next_c = t.c;  // read before it is written
  int64_t n = block.first / std::max<int64_t>(1, s.out_h), oh = block.first % std::max<int64_t>(1, s.out_h);
  for (int64_t row = block.first; row < block.last; ++row) {
    int64_t ih = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
    if (ih >= 0 && ih < s.in_h && first < last) {
      block.in_offsets[t.taps] = ((n * s.in_h + ih) * s.in_w + first * s.stride_w + offset) * s.in_c;
      block.gradient_offsets[t.taps++] = (row * s.out_w + first) * gradient_step_;
    }
    if (++oh == s.out_h) oh = 0, ++n;
  }
  if (t.taps > 0 || !t.accumulate) gemm::kernels<T>().tile(t);
}

// The rows up to `end` that follow the block.
template <class T>
void FilterGradient<T>::look_ahead(const T* in, const T* gradient, int64_t end, Block& block) const {
  const ConvShape& s = shape_;
  const int64_t count = (end - block.last) * s.out_w * gradient_step_, all = s.batch * s.in_h;
  block.products = (block.last - block.first) * s.out_w;
  const int64_t products = block.products * block.units;
  block.gradient_ahead = gemm::ahead_of(gradient + block.last * s.out_w * gradient_step_, count, products);
  // The lowest row of the images that a row sees.
  auto in_row = [&](int64_t row) {
    return row / s.out_h * s.in_h + row % s.out_h * s.stride_h + (s.window_h - 1) * s.dilation_h - s.pad_top;
  };
  const int64_t first = count > 0 ? std::clamp<int64_t>(in_row(block.last), 0, all) : all;
  const int64_t last = count > 0 ? std::clamp<int64_t>(in_row(end), first, all) : all;
  block.in_ahead = gemm::ahead_of(in + first * s.in_w * s.in_c, (last - first) * s.in_w * s.in_c, products);
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
  const int64_t rows = shape_.batch * shape_.out_h;
  const int64_t block_rows = std::max<int64_t>(1, kBlockPixels / std::max<int64_t>(1, shape_.out_w));
  int64_t units = shape_.groups() * shape_.taps() * row_tiles_ * panels_, groups = std::min(units, kGroups);
  double cost_ns = static_cast<double>(shape_.pixels()) * rows_ * cols_ * 0.02 * static_cast<double>(units) / kGroups;
  parallel.run(groups, cost_ns, [&](int64_t begin, int64_t end) {
    ScratchVector<int64_t> offsets(static_cast<size_t>(2 * block_rows));
    const int64_t first_unit = units * begin / groups, last_unit = units * end / groups;
    Block block;
    block.units = last_unit - first_unit;
    block.in_offsets = offsets.data();
    block.gradient_offsets = offsets.data() + block_rows;
    do {  // once at least: without a pixel the gradient is 0
      block.last = std::min(rows, block.first + block_rows);
      if (looks_ahead_) look_ahead(in, gradient, std::min(rows, block.last + block_rows), block);
      for (block.unit = 0; block.unit < block.units; ++block.unit)
        add_block(in, gradient, block, first_unit + block.unit, filter);
      block.first = block.last;
    } while (block.first < rows);
  });
}

template class FilterGradient<float>;
template class FilterGradient<double>;

}  // namespace emplace
