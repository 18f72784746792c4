/// ConvBands: bands of an image's rows as a convolution with few channels reads them: with their padding, copied
/// channel by channel, so that pixels follow each other; or as they lie, where tiles take pixels that lie a step apart.
#pragma once

#include <algorithm>
#include <vector>

#include "core/base/kept_by_thread.h"
#include "core/ops/conv/conv_walk.h"
#include "core/ops/gemm/tile.h"

namespace emplace {

/// Immutable after construction; any thread may use it. T: float, double, uint32_t.
template <class T>
class ConvBands {
 public:
  ConvBands() = default;
  /// `by_pixels`: pixels lie in a tile's columns, and its window is read tap by tap, all channels of each.
  ConvBands(const ConvWalk& walk, bool by_pixels);

  /// Pixels of a row with its padding, of one remainder by the step.
  static int64_t line_of(const ConvAxis& h);
  int64_t line() const { return line_; }
  /// Bands of all images.
  int64_t count() const { return walk_.batch * bands_of_image(); }
  /// Of what is written, for which a band has what is read.
  int64_t rows() const { return rows_; }
  /// Are rows as they lie in the image?
  bool whole_rows() const { return whole_rows_; }
  /// Are they the image's own? Then all of the window's pixels lie in it.
  bool reads_image() const { return reads_image_; }
  /// From where a pixel's window begins: by tap and channel; by_pixels: by tap; of whole rows: by row of the window.
  const std::vector<int64_t>& offsets() const { return offsets_; }
  /// Calls body(line, pixel) for the rows of bands [begin, end): where what the row reads lies, its first pixel.
  template <class F>
  void for_each_row(const T* in, int64_t begin, int64_t end, const F& body) const;

 private:
  int64_t bands_of_image() const { return (walk_.vertical.out + rows_ - 1) / rows_; }
  /// Rows [first_row, first_row + rows) of what the window sees, those outside the image as zeros.
  void copy(const T* image, int64_t first_row, int64_t rows, T* band) const;
  void copy_lines(const T* image, int64_t row, T* band) const;
  void copy_whole(const T* image, int64_t row, T* band) const;

  ConvWalk walk_;
  int64_t rows_ = 1;
  int64_t line_ = 0;
  int64_t row_size_ = 0;  // elements from row to row of what is read
  bool whole_rows_ = false, reads_image_ = false;
  std::vector<int64_t> offsets_;
};

template <class T>
template <class F>
void ConvBands<T>::for_each_row(const T* in, int64_t begin, int64_t end, const F& body) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t bands = bands_of_image(), window_rows = (v.window - 1) * v.reach + 1;
  static constinit thread_local KeptByThread<std::vector<T>> kept_band;
  auto& band = kept_band.get();
  // A tile whose columns are pixels reads whole vectors.
  if (!reads_image_)
    band.resize(static_cast<size_t>(((rows_ - 1) * v.step + window_rows) * row_size_ + gemm::kWidestCols<T>));
  for (int64_t index = begin; index < end; ++index) {
    const int64_t image = index / bands, first_y = index % bands * rows_, rows = std::min(rows_, v.out - first_y),
                  first_row = first_y * v.step - v.pad;
    const T* const pixels = in + image * v.in * h.in * walk_.in_c;
    const T* from = reads_image_ ? pixels + first_row * row_size_ : band.data();
    if (!reads_image_) copy(pixels, first_row, (rows - 1) * v.step + window_rows, band.data());
    for (int64_t y = 0; y < rows; ++y) body(from + y * v.step * row_size_, (image * v.out + first_y + y) * h.out);
  }
}

extern template class ConvBands<float>;
extern template class ConvBands<double>;
extern template class ConvBands<uint32_t>;

}  // namespace emplace
