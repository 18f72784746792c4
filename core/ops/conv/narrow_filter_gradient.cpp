#include "core/ops/conv/narrow_filter_gradient.h"

#include <algorithm>
#include <array>

#include "core/base/scratch_vector.h"
#include "core/ops/gemm/tile.h"

namespace emplace {
namespace {

constexpr int64_t kBlockPixels = 256;
// Between lines: not a power of two, so that a tile's rows fall into different sets of the cache.
constexpr int64_t kLineStep = kBlockPixels + 16;
constexpr int64_t kMaxParts = 8;
constexpr int kMaxTileRows = 16;

}  // namespace

template <class T>
struct NarrowFilterGradient<T>::Buffers {
  ScratchVector<T> lines, gradient;
};

template <class T>
NarrowFilterGradient<T>::NarrowFilterGradient(const ConvShape& shape) : shape_(shape) {
  const auto& kernel = gemm::kernels<T>();
  lines_ = shape.taps() * shape.in_c;
  size_ = lines_ * shape.out_c;
  parts_ = std::clamp<int64_t>(shape.pixels() / kBlockPixels, 1, kMaxParts);
  int64_t tiles = std::max<int64_t>(1, (lines_ + kernel.max_rows - 1) / kernel.max_rows);
  rows_ = static_cast<int>((lines_ + tiles - 1) / tiles);
  cols_ = kernel.max_cols;
  gradient_step_ = (shape.out_c + kernel.vector - 1) / kernel.vector * kernel.vector;
}

// What `count` pixels of row (n, oh) from column `first` on see through every tap.
template <class T>
void NarrowFilterGradient<T>::write_run(const T* in, int64_t n, int64_t oh, int64_t first, int64_t count,
                                        T* lines) const {
  const ConvShape& s = shape_;
  for (int64_t kh = 0; kh < s.window_h; ++kh) {
    int64_t ih = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
    const T* row = in + (n * s.in_h + ih) * s.in_w * s.in_c;
    for (int64_t kw = 0; kw < s.window_w; ++kw) {
      // Of these pixels, [begin, end) see a column of the image.
      int64_t offset = first * s.stride_w - s.pad_left + kw * s.dilation_w;
      int64_t begin = offset >= 0 ? 0 : std::min(count, (-offset + s.stride_w - 1) / s.stride_w);
      int64_t end = s.in_w <= offset ? 0 : std::min(count, (s.in_w - offset + s.stride_w - 1) / s.stride_w);
      if (ih < 0 || ih >= s.in_h || end < begin) begin = end = 0;
      for (int64_t c = 0; c < s.in_c; ++c, lines += kLineStep) {
        std::fill_n(lines, begin, T(0));
        const T* from = row + offset * s.in_c + c;
        const int64_t step = s.stride_w * s.in_c;
        if (step == 1) {
          std::copy(from + begin, from + end, lines + begin);
        } else {
          for (int64_t i = begin; i < end; ++i) lines[i] = from[i * step];
        }
        std::fill(lines + end, lines + count, T(0));
      }
    }
  }
}

template <class T>
void NarrowFilterGradient<T>::write_lines(const T* in, int64_t begin, int64_t end, T* lines) const {
  const ConvShape& s = shape_;
  int64_t ow = begin % s.out_w, oh = begin / s.out_w % s.out_h, n = begin / s.out_w / s.out_h;
  for (int64_t pixel = begin; pixel < end;) {
    int64_t count = std::min(end - pixel, s.out_w - ow);
    write_run(in, n, oh, ow, count, lines + (pixel - begin));
    pixel += count;
    ow = 0;
    if (++oh == s.out_h) oh = 0, ++n;
  }
}

template <class T>
void NarrowFilterGradient<T>::add_pixels(const T* in, const T* gradient, int64_t begin, int64_t end, Buffers& buffers,
                                         T* sums) const {
  const int64_t out_c = shape_.out_c;
  const T* b = gradient + begin * out_c;
  if (gradient_step_ != out_c) {  // so that whole vectors can be read at the end of every pixel
    for (int64_t p = begin; p < end; ++p)
      std::copy_n(gradient + p * out_c, out_c, buffers.gradient.data() + (p - begin) * gradient_step_);
    b = buffers.gradient.data();
  }
  write_lines(in, begin, end, buffers.lines.data());
  std::array<const T*, kMaxTileRows> pointers;
  gemm::TileArgs<T> t{};
  t.taps = 1;
  t.depth = end - begin;
  t.row_pointers = pointers.data();
  t.b_step = gradient_step_;
  t.c_step = out_c;
  t.accumulate = true;
  for (int64_t line = 0; line < lines_; line += rows_) {
    t.rows = static_cast<int>(std::min<int64_t>(rows_, lines_ - line));
    for (int i = 0; i < t.rows; ++i) pointers[static_cast<size_t>(i)] = buffers.lines.data() + (line + i) * kLineStep;
    for (int64_t first = 0; first < out_c; first += cols_) {
      t.cols = static_cast<int>(std::min<int64_t>(cols_, out_c - first));
      t.b = b + first;
      t.c = sums + line * out_c + first;
      gemm::kernels<T>().tile(t);
    }
  }
}

template <class T>
void NarrowFilterGradient<T>::run(Parallel& parallel, const T* in, const T* out_gradient, T* scratch, T* filter) const {
  const int64_t pixels = shape_.pixels();
  const double pixels_a_part = static_cast<double>(pixels) / static_cast<double>(parts_);
  const double cost_ns = pixels_a_part * (static_cast<double>(size_) * 0.03 + static_cast<double>(lines_) * 0.3);
  parallel.run(parts_, cost_ns, [&](int64_t first_part, int64_t last_part) {
    Buffers buffers;
    buffers.lines.resize(static_cast<size_t>(lines_ * kLineStep));
    if (gradient_step_ != shape_.out_c) buffers.gradient.resize(static_cast<size_t>(kBlockPixels * gradient_step_));
    for (int64_t part = first_part; part < last_part; ++part) {
      T* sums = scratch + part * size_;
      std::fill_n(sums, size_, T(0));
      const int64_t end = pixels * (part + 1) / parts_;
      for (int64_t at = pixels * part / parts_; at < end; at += kBlockPixels) {
        add_pixels(in, out_gradient, at, std::min(end, at + kBlockPixels), buffers, sums);
      }
    }
  });
  parallel.run(size_, 0.3 * static_cast<double>(parts_), [&](int64_t begin, int64_t end) {
    std::copy(scratch + begin, scratch + end, filter + begin);
    for (int64_t part = 1; part < parts_; ++part) {
      for (int64_t i = begin; i < end; ++i) filter[i] += scratch[part * size_ + i];
    }
  });
}

template class NarrowFilterGradient<float>;
template class NarrowFilterGradient<double>;

}  // namespace emplace
