/// ByteImage: how an image of bytes lies for the byte tiles (core/ops/gemm/byte_tile.h), which read steps of four bytes
/// of every pixel. As it is, if its channels are uint8 and fill steps; else in a copy: with what fills a step up behind
/// each group of channels, or, of so few channels that most of a step would be filling, all that a window sees side by
/// side.
#pragma once

#include <vector>

#include "core/base/parallel.h"
#include "core/ops/conv/conv_shape.h"

namespace emplace {

class ByteImage {
 public:
  ByteImage() = default;
  /// `image_signed`: int8, which is moved up by 128; else uint8.
  ByteImage(const ConvShape& shape, bool image_signed);

  /// Of the copy; 0: none is needed.
  int64_t bytes() const;
  /// `zero`: what lies outside of the image, moved up as the image is. `to`: bytes() of them.
  void copy(Parallel& parallel, const uint8_t* image, uint8_t zero, uint8_t* to) const;

  /// What tiles sum over: taps, and steps of each.
  int64_t taps() const { return windows_ ? 1 : shape_.taps(); }
  int64_t depth() const { return depth_; }
  int64_t steps() const { return taps() * depth_; }
  /// Where the channel of a window's tap lies, of steps() * 4.
  int64_t place(int64_t tap, int64_t channel) const;
  /// Where taps begin, of `count` pixels from `first` on: [tile][tap][pixel of the tile]. `image`: as it is or its
  /// copy.
  void point(const uint8_t* image, const uint8_t* border, int64_t group, int64_t first, int64_t count,
             std::vector<const uint8_t*>& pointers) const;

 private:
  void copy_groups(const uint8_t* pixel, uint8_t* to) const;
  void copy_window(const uint8_t* image, uint8_t zero, int64_t pixel, uint8_t* to) const;
  int64_t bytes_of_group() const;
  int64_t bytes_of_pixel() const;

  // Constant after construction.
  ConvShape shape_;
  uint8_t flip_ = 0;
  bool windows_ = false;  // the copy holds windows
  bool groups_ = false;   // the copy holds groups
  bool single_ = false;   // a pixel of the result sees one of the image, the same
  int64_t depth_ = 0;
};

}  // namespace emplace
