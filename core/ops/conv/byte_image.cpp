#include "core/ops/conv/byte_image.h"

#include <algorithm>

#include "core/ops/gemm/byte_tile.h"

namespace emplace {
namespace {

constexpr int64_t kStep = gemm::kBytesAtOnce;
constexpr uint8_t kFlip = 128;  // from int8 to uint8

int64_t steps_of(int64_t bytes) { return (bytes + kStep - 1) / kStep; }

void copy_flipped(const uint8_t* from, int64_t n, uint8_t flip, uint8_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] ^ flip;
}

}  // namespace

ByteImage::ByteImage(const ConvShape& s, bool image_signed) : shape_(s), flip_(image_signed ? kFlip : 0) {
  windows_ = s.groups() == 1 && s.filter_c < kStep && s.taps() > 1;
  groups_ = !windows_ && (image_signed || s.filter_c % kStep != 0);
  single_ = s.taps() == 1 && s.stride_h == 1 && s.stride_w == 1 && s.out_h == s.in_h && s.out_w == s.in_w &&
            s.pad_top == 0 && s.pad_left == 0;
  depth_ = steps_of(windows_ ? s.taps() * s.filter_c : s.filter_c);
}

int64_t ByteImage::bytes_of_group() const { return groups_ ? depth_ * kStep : shape_.filter_c; }

int64_t ByteImage::bytes_of_pixel() const {
  if (windows_) return depth_ * kStep;
  return groups_ ? shape_.groups() * bytes_of_group() : shape_.in_c;
}

int64_t ByteImage::bytes() const {
  if (windows_) return shape_.pixels() * bytes_of_pixel();
  return groups_ ? shape_.batch * shape_.in_h * shape_.in_w * bytes_of_pixel() : 0;
}

int64_t ByteImage::place(int64_t tap, int64_t channel) const {
  return (windows_ ? tap * shape_.filter_c : tap * depth_ * kStep) + channel;
}

void ByteImage::copy(Parallel& parallel, const uint8_t* image, uint8_t zero, uint8_t* to) const {
  const int64_t pixels = windows_ ? shape_.pixels() : shape_.batch * shape_.in_h * shape_.in_w;
  const int64_t size = bytes_of_pixel();
  parallel.run(pixels, static_cast<double>(size) * (windows_ ? 0.5 : 0.1), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      if (windows_)
        copy_window(image, zero, p, to + p * size);
      else
        copy_groups(image + p * shape_.in_c, to + p * size);
    }
  });
}

// What fills a step up meets zeros of the filter, and is 0 where bytes of an image are summed.
void ByteImage::copy_groups(const uint8_t* pixel, uint8_t* to) const {
  const int64_t size = bytes_of_group();
  for (int64_t g = 0; g < shape_.groups(); ++g, pixel += shape_.filter_c, to += size) {
    copy_flipped(pixel, shape_.filter_c, flip_, to);
    std::fill(to + shape_.filter_c, to + size, uint8_t{0});
  }
}

void ByteImage::copy_window(const uint8_t* image, uint8_t zero, int64_t pixel, uint8_t* to) const {
  const ConvShape& s = shape_;
  const int64_t x = pixel % s.out_w, y = pixel / s.out_w % s.out_h, n = pixel / (s.out_w * s.out_h);
  const int64_t col = x * s.stride_w - s.pad_left, last = col + (s.window_w - 1) * s.dilation_w;
  const bool side_by_side = s.dilation_w == 1 && col >= 0 && last < s.in_w;
  uint8_t* const end = to + bytes_of_pixel();
  for (int64_t i = 0; i < s.window_h; ++i) {
    const int64_t row = y * s.stride_h - s.pad_top + i * s.dilation_h, run = s.window_w * s.filter_c;
    const uint8_t* from = image + (n * s.in_h + row) * s.in_w * s.in_c;
    if (row < 0 || row >= s.in_h) {
      to = std::fill_n(to, run, zero);
    } else if (side_by_side) {
      copy_flipped(from + col * s.in_c, run, flip_, to);
      to += run;
    } else {
      for (int64_t j = col; j <= last; j += s.dilation_w, to += s.filter_c) {
        if (j >= 0 && j < s.in_w)
          copy_flipped(from + j * s.in_c, s.filter_c, flip_, to);
        else
          std::fill_n(to, s.filter_c, zero);
      }
    }
  }
  std::fill(to, end, uint8_t{0});
}

void ByteImage::point(const uint8_t* image, const uint8_t* border, int64_t group, int64_t first, int64_t count,
                      std::vector<const uint8_t*>& pointers) const {
  const ConvShape& s = shape_;
  const int64_t step = bytes_of_pixel(), rows = gemm::kByteRows, tiles = (count + rows - 1) / rows;
  pointers.resize(static_cast<size_t>(tiles * rows * taps()));
  if (windows_ || single_) {
    const uint8_t* at = image + first * step + group * bytes_of_group();
    for (int64_t p = 0; p < count; ++p, at += step) pointers[static_cast<size_t>(p)] = at;
    return;
  }
  for (int64_t p = 0; p < count; ++p) {
    const int64_t pixel = first + p, x = pixel % s.out_w, y = pixel / s.out_w % s.out_h;
    const uint8_t* of_image = image + pixel / (s.out_w * s.out_h) * s.in_h * s.in_w * step + group * bytes_of_group();
    const uint8_t** to = pointers.data() + p / rows * rows * s.taps() + p % rows;
    for (int64_t i = 0; i < s.window_h; ++i) {
      const int64_t row = y * s.stride_h - s.pad_top + i * s.dilation_h;
      for (int64_t j = 0; j < s.window_w; ++j, to += rows) {
        const int64_t col = x * s.stride_w - s.pad_left + j * s.dilation_w;
        const bool inside = row >= 0 && row < s.in_h && col >= 0 && col < s.in_w;
        *to = inside ? of_image + (row * s.in_w + col) * step : border;
      }
    }
  }
}

}  // namespace emplace
