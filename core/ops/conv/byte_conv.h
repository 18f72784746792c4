/// ByteConv: a 2-D convolution of bytes, NHWC, whose sums are exact 32-bit integers; with a window of one pixel it is
/// the product of two matrices. On the byte tiles of core/ops/gemm; where every channel has a filter of its own, by
/// ByteChannels.
///
/// Tiles multiply uint8 by int8: an int8 image is moved up by 128 with its zero point, a uint8 filter down. Of
/// sum (x - x_zero) * (f - f_zero) the tiles work out sum x * f; the other parts hang on one side only: that of the
/// filter is what sums begin with, that of the image is taken off afterwards.
#pragma once

#include <vector>

#include "core/base/parallel.h"
#include "core/ops/conv/byte_channels.h"
#include "core/ops/conv/byte_image.h"
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
  int64_t image_bytes() const { return by_channel_ ? 0 : image_.bytes(); }
  /// After pack(). `ordered`: image_bytes() of them.
  void run(Parallel& parallel, const void* image, int zero, const int8_t* packed, uint8_t* ordered,
           const ByteSink& sink) const;

 private:
  struct Job {
    const uint8_t* image;
    const int8_t* packed;
    const uint8_t* border;  // what lies outside of the image
    const int32_t* start;   // what sums begin with: of whole panels of each group
    const ByteSink& sink;
  };
  int64_t channels_of_group() const { return shape_.out_c / shape_.groups(); }
  int64_t columns_of_group() const { return panels_ * gemm::kByteCols; }  // channels, filled up to panels
  int64_t bytes_of_panel() const;                                         // of a step
  int64_t packed_group_bytes() const { return panels_ * image_.steps() * bytes_of_panel(); }
  const int8_t* ones(const int8_t* packed) const { return packed + shape_.groups() * packed_group_bytes(); }
  template <class B>
  void pack_group(const uint8_t* filter, int64_t group, B* packed);
  std::vector<int32_t> starts(int64_t zero) const;
  void run_tiles(const Job& job, int64_t tile_begin, int64_t tile_end, int64_t block_begin, int64_t block_end) const;
  void run_group(const Job& job, int64_t group, int64_t tile, int64_t tiles, int64_t block_begin,
                 int64_t block_end) const;
  void sum_images(gemm::ByteTileArgs t, const Job& job, std::vector<int32_t>& of_pixels, int64_t tile) const;
  void take_zeros_off(int32_t* sums, const gemm::ByteTileArgs& t, const int32_t* of_pixels, int64_t channel,
                      int64_t cols) const;

  // Constant after construction.
  ConvShape shape_;
  bool image_signed_ = false, filter_signed_ = false;
  bool by_channel_ = false;  // all is done by channels_
  ByteImage image_;
  gemm::ByteTile tile_{};
  int64_t panels_ = 0;  // of a group
  int64_t blocks_ = 0;  // of a group: panels that a tile takes at once
  int64_t tiles_ = 0;   // of pixels
  ByteChannels channels_;
  // Of the filter: by output channel.
  std::vector<int32_t> sums_, zeros_;
  bool has_zeros_ = false;
};

}  // namespace emplace
