/// DirectConv: 2-D convolution, NHWC, on the tile kernels of core/ops/gemm: a block of output pixels stays in
/// registers while every tap of the window is added through one pointer per pixel; nothing is unrolled in memory.
#pragma once

#include <vector>

#include "core/base/parallel.h"
#include "core/op/tile.h"
#include "core/ops/conv/conv_shape.h"

namespace emplace {

/// What happens to a finished block of the output while it is still in cache: bias, activation.
template <class T>
struct ConvEpilogue {
  /// c: `rows` rows of `cols` outputs starting at channel `first`, `step` elements apart. Null: nothing.
  void (*apply)(const void* state, T* c, int rows, int64_t cols, int64_t step, int64_t first) = nullptr;
  const void* state = nullptr;
};

/// Immutable after construction; any thread may use it. T: float, double, uint32_t.
template <class T>
class DirectConv {
 public:
  DirectConv() = default;
  explicit DirectConv(const ConvShape& shape);

  /// Elements of the filter rearranged into panels.
  int64_t packed_filter_size() const;
  /// `filter` [h, w, in_c / groups, out_c]; `packed` 64-byte aligned.
  void pack_filter(Parallel& parallel, const T* filter, T* packed) const;
  /// in [batch, in_h, in_w, in_c], out [batch, out_h, out_w, out_c].
  /// `sink`, if any, is told of the pixels.
  void run(Parallel& parallel, const T* in, const T* packed_filter, T* out, const ConvEpilogue<T>& epilogue = {},
           RowSink* sink = nullptr) const;

  /// For gradients with respect to the input: the pixels are those of the input, the window reaches back to the
  /// outputs that used them. `filter` as above; in = the output's gradient, out = the input's.
  static DirectConv input_gradient(const ConvShape& shape);

 private:
  /// The way from a written pixel to the ones it reads, along one axis: read = (written * step - pad + tap * reach) /
  /// divide, if that divides and lies in the image. Forward: divide is 1; backward: step is 1, pad and reach negated.
  struct Axis {
    int64_t step = 1, pad = 0, reach = 1, divide = 1;
    /// The pixel read, or -1.
    int64_t source(int64_t written, int64_t tap, int64_t size) const {
      int64_t at = written * step - pad + tap * reach;
      if (divide > 1) {
        if (at % divide != 0) return -1;
        at /= divide;
      }
      return at >= 0 && at < size ? at : -1;
    }
  };

  void run_tiles(const T* in, const T* packed, T* out, int64_t begin, int64_t end, const ConvEpilogue<T>& epilogue,
                 RowSink* sink) const;
  /// For each tap and each of `rows` pixels from `pixel` on: where what it multiplies begins; `zeros_` outside.
  void fill_pointers(const T* in, int64_t pixel, int rows, const T** pointers) const;
  /// The values themselves, one tap and channel after the other, `rows` pixels side by side.
  void gather(const T* in, int64_t pixel, int rows, T* values) const;
  /// Calls body(first, count, x, y, image) for runs of pixels that lie in one row of the output.
  template <class F>
  void for_each_run(int64_t pixel, int rows, const F& body) const;

  ConvShape shape_;
  bool backward_ = false;
  bool gather_ = false;  // so few channels that a pointer per tap costs more than moving the values
  // In the terms of run(): what is read and what is written.
  int64_t in_h_ = 0, in_w_ = 0, in_c_ = 0, out_h_ = 0, out_w_ = 0, out_c_ = 0, depth_ = 0, group_out_ = 0, groups_ = 1;
  Axis vertical_, horizontal_;
  int rows_ = 1, cols_ = 1;
  int64_t panels_ = 0;  // per group
  std::vector<T> zeros_;
};

extern template class DirectConv<float>;
extern template class DirectConv<double>;
extern template class DirectConv<uint32_t>;

}  // namespace emplace
