/// DirectConv: 2-D convolution, NHWC, on the tile kernels of core/ops/gemm: a block of output pixels stays in
/// registers while every tap of the window is added through one pointer per pixel; nothing is unrolled in memory.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "core/op/tile.h"
#include "core/ops/conv/conv_bands.h"
#include "core/ops/conv/conv_walk.h"
#include "core/ops/gemm/tile.h"

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
  explicit DirectConv(const ConvShape& shape) : DirectConv(ConvWalk::forward(shape)) {}
  /// For gradients with respect to the input: the pixels are those of the input, the window reaches back to the
  /// outputs that used them. `filter` as below; in = the output's gradient, out = the input's.
  static DirectConv input_gradient(const ConvShape& shape) { return DirectConv(ConvWalk::input_gradient(shape)); }

  /// The way that was chosen, and why.
  std::string describe() const;
  /// Would run() leave something of a finite filter out?
  bool may_leave_out() const;
  /// Elements of the filter rearranged into panels.
  int64_t packed_filter_size() const;
  /// `filter` [h, w, in_c / groups, out_c]; `packed` 64-byte aligned.
  void pack_filter(Parallel& parallel, const T* filter, T* packed) const;
  /// in [batch, in_h, in_w, in_c], out [batch, out_h, out_w, out_c]. `sink`, if any, is told of the pixels. Gradients
  /// have neither epilogue nor sink. `finite`: nothing in the filter makes anything else of 0, so that what lies
  /// outside of the image may be left out.
  void run(Parallel& parallel, const T* in, const T* packed_filter, T* out, const ConvEpilogue<T>& epilogue = {},
           RowSink* sink = nullptr, bool finite = false) const;

 private:
  /// What the pixels of a tile have in common.
  enum class Way : uint8_t {
    kPixels,   // they follow each other in the output
    kPanels,   // so they do here, but panel after panel of the filter, which is too large to stay in cache, passes by
               // all that stay in it
    kBands,    // they follow each other in a row of it; what they read was first copied with its padding, if it has
               // any, because there are few channels
    kOutputs,  // they follow each other in a row of it, copied as for kBands; there are few channels to write, so that
               // pixels lie in the columns of a tile and those channels in its rows
    kImages,   // they have the same place in several images, hence the same taps inside
    kStrided,  // they lie a stride apart in a row, hence the same taps fall on pixels of what is read
  };
  struct Job {
    const gemm::Kernels<T>& kernels;
    const T *in, *packed;
    T* out;
    const ConvEpilogue<T>& epilogue;
    RowSink* sink;
    bool finite;
  };
  /// Tiles of kPanels from pixel `first` on, whose pixels' window stays in cache while panels pass by.
  struct PixelBlock {
    int64_t first = 0, tiles = 0;
  };
  /// Of a tile whose pixels all see the same taps: those, by tap and pixel where what they multiply begins, and by tap
  /// where its part of the filter does.
  struct SeenTaps {
    std::vector<const T*> pointers;
    std::vector<int64_t> offsets;
  };

  explicit DirectConv(const ConvWalk& walk);
  Way choose_way() const;
  /// Is each part of the filter better read once, for many tiles, than the whole of it for every tile?
  bool filter_passes_by() const;
  void run_pixels(const Job& job, int64_t begin, int64_t end) const;
  void run_panels(const Job& job, int64_t begin, int64_t end) const;
  void run_bands(const Job& job, int64_t begin, int64_t end) const;
  void run_outputs(const Job& job, int64_t begin, int64_t end) const;
  void run_images(const Job& job, int64_t begin, int64_t end) const;
  void run_strided(const Job& job, int64_t begin, int64_t end) const;
  /// Tiles of one row and one remainder by the stride.
  int64_t strided_tiles() const;
  /// A tile of as yet no taps; `step` elements from one of its pixels in the output to the next.
  gemm::TileArgs<T> without_taps(int64_t rows, int64_t step, SeenTaps& seen) const;
  void add_tap(gemm::TileArgs<T>& t, int64_t tap, SeenTaps& seen) const {
    seen.offsets[static_cast<size_t>(t.taps++)] = tap * walk_.depth * cols_;
  }
  /// Sets the tile's taps; through each, where what a pixel multiplies begins, `zeros_` outside. Rows of the window
  /// that no pixel of the tile sees are left out of a finite filter. `pointers`: taps x rows_; `offsets`: taps.
  void point_to_pixels(gemm::TileArgs<T>& t, const Job& job, int64_t pixel, const T** pointers, int64_t* offsets) const;
  /// By row of the window: does one of the tile's pixels see it? Of windows of more rows: they are all seen.
  uint64_t seen_rows(const Job& job, int64_t pixel, int rows) const;
  /// Do the rows of a tile of kPixels or kPanels meet in few sets of the first cache, so that they are better copied?
  bool copies_rows() const;
  /// Copies the tile's rows to `to`, of rows_ * copied_row_ elements.
  void copy_rows(gemm::TileArgs<T>& t, const T** pointers, T* to) const;
  void look_ahead(gemm::TileArgs<T>& t, const Job& job, int64_t pixel) const;
  void look_to_next_panel(gemm::TileArgs<T>& t, const Job& job, const PixelBlock& block, int64_t tile,
                          int64_t panel) const;
  /// All channels of the tile's pixels, whose first is at `out`. `pointers`: the tile's, if it has any.
  void multiply(gemm::TileArgs<T>& t, const Job& job, T* out, std::vector<const T*>* pointers) const;
  /// Those of one panel, counted over all groups.
  void multiply_panel(gemm::TileArgs<T>& t, const Job& job, T* out, int64_t group, int64_t panel) const;

  ConvWalk walk_;
  bool pixel_by_pixel_ = false;  // walk_.pixel_by_pixel()
  Way way_ = Way::kPixels;
  int rows_ = 1, cols_ = 1;
  int64_t panels_ = 0;      // per group
  int64_t panel_size_ = 0;  // elements
  std::vector<T> zeros_;
  int64_t block_tiles_ = 0;  // of kPanels: that a panel passes by
  int64_t copied_row_ = 0;   // from row to row where a tile's rows are copied; 0: they are not
  ConvBands<T> bands_;       // of kBands and kOutputs
};

extern template class DirectConv<float>;
extern template class DirectConv<double>;
extern template class DirectConv<uint32_t>;

}  // namespace emplace
