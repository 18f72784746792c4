// Part of core/ops/conv/direct_conv.h: the ways that read bands of rows (core/ops/conv/conv_bands.h).
#include <algorithm>

#include "core/base/kept_by_thread.h"
#include "core/ops/conv/direct_conv.h"
#include "core/ops/conv/direct_conv_parts.h"

namespace emplace {

template <class T>
void DirectConv<T>::run_bands(const Job& job, int64_t begin, int64_t end) const {
  const int64_t width = walk_.horizontal.out, out_c = walk_.out_c, in_c = walk_.in_c;
  static constinit thread_local KeptByThread<std::vector<const T*>> kept_pointers;
  auto& pointers = kept_pointers.get();
  FinishedPixels finished(job.sink, out_c);
  gemm::TileArgs<T> t{};
  const std::vector<int64_t>& offsets = bands_.offsets();
  const bool whole_rows = bands_.whole_rows();
  t.taps = static_cast<int64_t>(offsets.size());
  t.depth = 1;
  t.a_offsets = offsets.data();
  t.c_step = out_c;
  if (whole_rows) {
    pointers.resize(offsets.size() * static_cast<size_t>(rows_));
    t.row_pointers = pointers.data();
    t.a_row_step = walk_.horizontal.step * in_c;
    t.depth = walk_.horizontal.window * in_c;
  }
  bands_.for_each_row(job.in, begin, end, [&](const T* line, int64_t pixel) {
    for (int64_t x = 0; x < width; x += rows_) {
      t.rows = static_cast<int>(std::min<int64_t>(rows_, width - x));
      t.a = line + x;
      // Of a tile's rows the first is enough.
      for (size_t kh = 0; whole_rows && kh < offsets.size(); ++kh)
        pointers[kh * static_cast<size_t>(rows_)] = line + x * t.a_row_step + offsets[kh];
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
  t.b_offsets = bands_.offsets().data();
  t.b_step = walk_.horizontal.step * bands_.line();
  t.c = turned;
  t.c_step = cols_;
  bands_.for_each_row(job.in, begin, end, [&](const T* line, int64_t pixel) {
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
