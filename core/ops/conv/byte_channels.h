/// ByteChannels: a 2-D convolution of bytes, NHWC, where every channel has a filter of its own; exact 32-bit sums. Two
/// taps at a time, as pairs of 16-bit numbers. What lies outside of the image is a row of zero points, so that these
/// hang on the filter alone, and are taken off once.
#pragma once

#include <vector>

#include "core/base/parallel.h"
#include "core/ops/conv/byte_sink.h"
#include "core/ops/conv/conv_shape.h"

namespace emplace {

class ByteChannels {
 public:
  ByteChannels() = default;
  /// REQUIRES: fits(shape). `image_signed`, `filter_signed`: int8, else uint8.
  ByteChannels(const ConvShape& shape, bool image_signed, bool filter_signed);

  static bool fits(const ConvShape& shape) {
    return shape.filter_c == 1 && shape.in_c > 1 && shape.out_c == shape.in_c;
  }

  /// What the filter becomes: packed_bytes() of them, aligned to 16-bit numbers. `filter` [h, w, 1, channels], `zeros`
  /// its zero points by channel.
  int64_t packed_bytes() const { return pairs() * 2 * shape_.out_c * static_cast<int64_t>(sizeof(int16_t)); }
  void pack(const uint8_t* filter, const std::vector<int32_t>& zeros, int8_t* packed);
  /// After pack().
  void run(Parallel& parallel, const uint8_t* image, int zero, const int8_t* packed, const ByteSink& sink) const;

 private:
  int64_t pairs() const { return (shape_.taps() + 1) / 2; }
  /// Where the taps of a window begin.
  void point(const uint8_t* image, const uint8_t* border, int64_t pixel, std::vector<const uint8_t*>& taps) const;

  // Constant after construction.
  ConvShape shape_;
  bool image_signed_ = false, filter_signed_ = false;
  std::vector<int64_t> offsets_;  // of the taps of a window that lies inside
  // Of the filter: by channel.
  std::vector<int32_t> sums_;
};

}  // namespace emplace
