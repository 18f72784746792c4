#include "core/ops/conv/conv_bands.h"

#include <type_traits>

#include "core/ops/conv/direct_conv_parts.h"

namespace emplace {

template <class T>
int64_t ConvBands<T>::line_of(const ConvAxis& h) {
  return pieces_of((h.out - 1) * h.step + (h.window - 1) * h.reach + 1, h.step);
}

template <class T>
ConvBands<T>::ConvBands(const ConvWalk& walk, bool by_pixels) : walk_(walk), line_(line_of(walk.horizontal)) {
  const ConvAxis &v = walk.vertical, &h = walk.horizontal;
  row_size_ = line_ * h.step * walk.in_c;
  const int64_t row_bytes = std::max<int64_t>(1, row_size_ * static_cast<int64_t>(sizeof(T)));
  const int64_t rows = by_pixels ? (kMostBandBytes / row_bytes - (v.window - 1) * v.reach - 1) / v.step + 1
                                 : gemm::processor().band_bytes / (row_bytes * v.step);
  rows_ = std::clamp<int64_t>(rows, 1, std::max<int64_t>(1, v.out));
  // Tiles of floats alone know rows that lie a step apart (core/ops/gemm/tile_impl.h).
  whole_rows_ = !by_pixels && h.reach == 1 && std::is_same_v<T, float>;
  if (whole_rows_) {
    reads_image_ = v.all_inside() && h.all_inside();
    if (reads_image_) row_size_ = h.in * walk.in_c;
    for (int64_t kh = 0; kh < v.window; ++kh) offsets_.push_back(kh * v.reach * row_size_);
    return;
  }
  for (int64_t tap = 0; tap < walk.taps(); ++tap) {
    const int64_t row = tap / h.window * v.reach, col = tap % h.window * h.reach;
    for (int64_t c = 0; c < (by_pixels ? 1 : walk.in_c); ++c)
      offsets_.push_back(((row * walk.in_c + c) * h.step + col % h.step) * line_ + col / h.step);
  }
}

template <class T>
void ConvBands<T>::copy(const T* image, int64_t first_row, int64_t rows, T* band) const {
  for (int64_t row = first_row; row < first_row + rows; ++row, band += row_size_)
    whole_rows_ ? copy_whole(image, row, band) : copy_lines(image, row, band);
}

// A line of the pixels with each remainder by the step, of each channel.
template <class T>
void ConvBands<T>::copy_lines(const T* image, int64_t row, T* band) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c, step = h.step;
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

template <class T>
void ConvBands<T>::copy_whole(const T* image, int64_t row, T* band) const {
  const ConvAxis &v = walk_.vertical, &h = walk_.horizontal;
  const int64_t in_c = walk_.in_c, width = line_ * h.step;
  // Column i of the band is column i - pad of the image; [first, last) lie in it.
  const int64_t first = std::clamp<int64_t>(h.pad, 0, width), last = std::clamp<int64_t>(h.in + h.pad, first, width);
  if (row < 0 || row >= v.in) {
    std::fill_n(band, row_size_, T(0));
    return;
  }
  std::fill_n(band, first * in_c, T(0));
  std::copy_n(image + (row * h.in + first - h.pad) * in_c, (last - first) * in_c, band + first * in_c);
  std::fill_n(band + last * in_c, (width - last) * in_c, T(0));
}

template class ConvBands<float>;
template class ConvBands<double>;
template class ConvBands<uint32_t>;

}  // namespace emplace
