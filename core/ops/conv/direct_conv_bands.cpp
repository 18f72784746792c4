// Part of core/ops/conv/direct_conv.h: the ways that first copy what a row of pixels reads, with its padding, channel
// by channel.
#include <algorithm>

#include "core/base/kept_by_thread.h"
#include "core/ops/conv/direct_conv.h"
#include "core/ops/conv/direct_conv_parts.h"

namespace emplace {

template <class T>
void DirectConv<T>::prepare_bands() {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const bool outputs = way_ == Way::kOutputs;
  const int64_t row_bytes = std::max<int64_t>(1, line_ * h.step * walk_.in_c * static_cast<int64_t>(sizeof(T)));
  const int64_t rows = outputs ? (kMostBandBytes / row_bytes - (v.window - 1) * v.reach - 1) / v.step + 1
                               : gemm::processor().band_bytes / (row_bytes * v.step);
  band_rows_ = std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, v.out));
  if (!outputs) rows_ = h.out > 0 ? static_cast<int>(pieces_of(h.out, pieces_of(h.out, rows_))) : 1;
  for (int64_t tap = 0; tap < walk_.taps(); ++tap) {
    const int64_t row = tap / h.window * v.reach, col = tap % h.window * h.reach;
    for (int64_t c = 0; c < (outputs ? 1 : walk_.in_c); ++c)
      in_offsets_.push_back(((row * walk_.in_c + c) * h.step + col % h.step) * line_ + col / h.step);
  }
}

// Rows [first_row, first_row + rows) of what the window sees, those outside the image as zeros.
template <class T>
void DirectConv<T>::copy_band(const T* image, int64_t first_row, int64_t rows, T* band) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c, step = h.step;
  for (int64_t row = first_row; row < first_row + rows; ++row) {
    const T* line = image + row * h.in * in_c;
    for (int64_t c = 0; c < in_c; ++c) {
      for (int64_t phase = 0; phase < step; ++phase, band += line_) {
        // Pixel i of the line is column i * step + phase - pad of the image; [first, last) lie in it.
        const int64_t offset = phase - h.pad;
        int64_t first = offset >= 0 ? 0 : std::min(line_, pieces_of(-offset, step));
        int64_t last = h.in <= offset ? 0 : std::min(line_, pieces_of(h.in - offset, step));
        if (row < 0 || row >= v.in || last < first) first = last = 0;
        std::fill_n(band, first, T(0));
        const T* from = line + offset * in_c + c;
        if (step * in_c == 1) {
          std::copy(from + first, from + last, band + first);
        } else {
          for (int64_t i = first; i < last; ++i) band[i] = from[i * step * in_c];
        }
        std::fill(band + last, band + line_, T(0));
      }
    }
  }
}

template <class T>
template <class F>
void DirectConv<T>::for_each_band_row(const Job& job, int64_t begin, int64_t end, const F& body) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c, bands = pieces_of(v.out, band_rows_), row_size = line_ * h.step * in_c,
                window_rows = (v.window - 1) * v.reach + 1;
  static constinit thread_local KeptByThread<std::vector<T>> kept_band;
  auto& band = kept_band.get();
  // A tile whose columns are pixels reads whole vectors.
  band.resize(static_cast<size_t>(((band_rows_ - 1) * v.step + window_rows) * row_size + gemm::kWidestCols<T>));
  for (int64_t index = begin; index < end; ++index) {
    const int64_t image = index / bands, first_y = index % bands * band_rows_,
                  rows = std::min(band_rows_, v.out - first_y);
    copy_band(job.in + image * v.in * h.in * in_c, first_y * v.step - v.pad, (rows - 1) * v.step + window_rows,
              band.data());
    for (int64_t y = 0; y < rows; ++y) body(band.data() + y * v.step * row_size, (image * v.out + first_y + y) * h.out);
  }
}

template <class T>
void DirectConv<T>::run_bands(const Job& job, int64_t begin, int64_t end) const {
  const int64_t width = walk_.horizontal.out, out_c = walk_.out_c;
  FinishedPixels finished(job.sink, out_c);
  gemm::TileArgs<T> t{};
  t.taps = static_cast<int64_t>(in_offsets_.size());
  t.depth = 1;
  t.a_offsets = in_offsets_.data();
  t.c_step = out_c;
  for_each_band_row(job, begin, end, [&](const T* line, int64_t pixel) {
    for (int64_t x = 0; x < width; x += rows_) {
      t.rows = static_cast<int>(std::min<int64_t>(rows_, width - x));
      t.a = line + x;
      multiply(t, job, job.out + (pixel + x) * out_c, nullptr);
      finished.add(pixel + x, t.rows);
    }
  });
}

template <class T>
void DirectConv<T>::run_outputs(const Job& job, int64_t begin, int64_t end) const {
  const int64_t width = walk_.horizontal.out, out_c = walk_.out_c, taps = walk_.taps();
  static constinit thread_local KeptByThread<std::vector<int64_t>> kept_filter_offsets;
  auto& filter_offsets = kept_filter_offsets.get();
  filter_offsets.resize(static_cast<size_t>(taps));
  for (int64_t tap = 0; tap < taps; ++tap) filter_offsets[static_cast<size_t>(tap)] = tap * walk_.depth * out_c;
  FinishedPixels finished(job.sink, out_c);
  T turned[kFewOutputs * gemm::kWidestCols<T>];
  gemm::TileArgs<T> t{};
  t.rows = static_cast<int>(out_c);
  t.taps = taps;
  t.depth = walk_.depth;
  t.a = job.packed;
  t.a_offsets = filter_offsets.data();
  t.a_step = out_c;
  t.b_offsets = in_offsets_.data();
  t.b_step = walk_.horizontal.step * line_;
  t.c = turned;
  t.c_step = cols_;
  for_each_band_row(job, begin, end, [&](const T* line, int64_t pixel) {
    for (int64_t x = 0; x < width; x += cols_) {
      t.cols = static_cast<int>(std::min<int64_t>(cols_, width - x));
      t.b = line + x;
      job.kernels.tile(t);
      T* out = job.out + (pixel + x) * out_c;
      for (int64_t i = 0; i < t.cols; ++i) {
        for (int64_t c = 0; c < out_c; ++c) out[i * out_c + c] = turned[c * cols_ + i];
      }
      if (job.epilogue.apply) job.epilogue.apply(job.epilogue.state, out, t.cols, out_c, out_c, 0);
      finished.add(pixel + x, t.cols);
    }
  });
}

template class DirectConv<float>;
template class DirectConv<double>;
template class DirectConv<uint32_t>;

}  // namespace emplace
