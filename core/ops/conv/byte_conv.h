/// ByteConv: a 2-D convolution of bytes, NHWC, whose sums are exact 32-bit integers; with a window of one pixel it is
/// the product of two matrices. On the byte tiles of core/ops/gemm; where every channel has a filter of its own, by
/// ByteChannels.
///
/// Tiles multiply uint8 by int8: an int8 image is moved up by 128 with its zero point, a uint8 filter down. Of
/// sum (x - x_zero) * (f - f_zero) the tiles work out sum x * f; the other parts hang on one side only and are taken
/// off afterwards.
#pragma once

#include <vector>

#include "core/base/parallel.h"
#include "core/ops/conv/byte_channels.h"
#include "core/ops/conv/byte_sink.h"
#include "core/ops/conv/conv_shape.h"
#include "core/ops/gemm/byte_tile.h"

namespace emplace {

class ByteConv {
 public:
  ByteConv() = default;
  /// `image_signed`, `filter_signed`: int8, else uint8.
  ByteConv(const ConvShape& shape, bool image_signed, bool filter_signed);

  /// What the filter becomes, once for one that never changes: `filter` [h, w, in_c / groups, out_c], `zeros` its zero
  /// points, one for all or one for each output. `packed`: packed_bytes() of them, 64-byte aligned.
  int64_t packed_bytes() const;
  void pack(const void* filter, const void* zeros, bool zero_for_each, int8_t* packed);
  /// Bytes that run() needs beside, for an image that has to be brought into order.
  int64_t image_bytes() const;
  /// After pack(). `ordered`: image_bytes() of them.
  void run(Parallel& parallel, const void* image, int zero, const int8_t* packed, uint8_t* ordered,
           const ByteSink& sink) const;

 private:
  struct Job {
    const uint8_t* image;
    const int8_t* packed;
    const uint8_t* border;  // what lies outside of the image
    const int32_t* part_of_filter;
    gemm::ByteTile tile;
    const ByteSink& sink;
  };
  int64_t channels_of_group() const { return shape_.out_c / shape_.groups(); }
  int64_t bytes_of_pixel() const { return ordered_ ? shape_.groups() * depth_ * gemm::kBytesAtOnce : shape_.in_c; }
  int64_t bytes_of_group() const { return ordered_ ? depth_ * gemm::kBytesAtOnce : shape_.filter_c; }
  int64_t steps() const { return shape_.taps() * depth_; }
  int64_t packed_group_bytes() const { return panels_ * steps() * gemm::kByteCols * gemm::kBytesAtOnce; }
  const int8_t* ones(const int8_t* packed) const { return packed + shape_.groups() * packed_group_bytes(); }
  void pack_group(const uint8_t* filter, int64_t group, int8_t* packed);
  void order_image(Parallel& parallel, const uint8_t* image, uint8_t* to) const;
  void point_to_pixels(const Job& job, int64_t group, int64_t tile, int64_t tiles,
                       std::vector<const uint8_t*>& pointers) const;
  void run_tiles(const Job& job, int64_t tile_begin, int64_t tile_end, int64_t block_begin, int64_t block_end) const;
  void run_group(const Job& job, int64_t group, int64_t tile, int64_t tiles, int64_t block_begin,
                 int64_t block_end) const;
  void sum_images(gemm::ByteTileArgs t, const Job& job, std::vector<int32_t>& of_pixels, int64_t tile) const;

  // Constant after construction.
  ConvShape shape_;
  bool image_signed_ = false, filter_signed_ = false;
  bool by_channel_ = false;  // all is done by channels_
  bool ordered_ = false;     // the image has to be brought into order
  int64_t depth_ = 0;        // of a tap, in steps of four channels
  int64_t panels_ = 0;       // of a group
  int64_t blocks_ = 0;       // of a group: panels that a tile takes at once
  int64_t tiles_ = 0;        // of pixels
  ByteChannels channels_;
  // Of the filter: by output channel.
  std::vector<int32_t> sums_, zeros_;
  bool has_zeros_ = false;
};

}  // namespace emplace
