#include "core/ops/conv/byte_conv.h"

#include <algorithm>
#include <cstring>

#include "core/base/kept_by_thread.h"

namespace emplace {
namespace {

constexpr uint8_t kFlip = 128;        // between int8 and uint8, either way
constexpr int64_t kTilesAtOnce = 16;  // whose pixels stay in cache while the filter passes by
constexpr int64_t kPanel = gemm::kByteCols * gemm::kBytesAtOnce;

int32_t wrapped(int64_t v) { return static_cast<int32_t>(static_cast<uint32_t>(v)); }

}  // namespace

ByteConv::ByteConv(const ConvShape& shape, bool image_signed, bool filter_signed)
    : shape_(shape), image_signed_(image_signed), filter_signed_(filter_signed) {
  by_channel_ = ByteChannels::fits(shape);
  if (by_channel_) channels_ = ByteChannels(shape, image_signed, filter_signed);
  image_ = ByteImage(shape, image_signed);
  tile_ = gemm::byte_tile();
  panels_ = (channels_of_group() + gemm::kByteCols - 1) / gemm::kByteCols;
  blocks_ = (panels_ + gemm::kBytePanels - 1) / gemm::kBytePanels;
  tiles_ = (shape.pixels() + gemm::kByteRows - 1) / gemm::kByteRows;
}

int64_t ByteConv::bytes_of_panel() const {
  return kPanel * static_cast<int64_t>(tile_.wide ? sizeof(int16_t) : sizeof(int8_t));
}

int64_t ByteConv::packed_bytes() const {
  if (by_channel_) return channels_.packed_bytes();
  const int64_t panel_of_ones = image_.steps() * bytes_of_panel();
  return shape_.groups() * packed_group_bytes() + panel_of_ones;
}

void ByteConv::pack(const void* filter, const void* zeros, bool zero_for_each, int8_t* packed) {
  const auto count = static_cast<size_t>(shape_.out_c);
  sums_.assign(count, 0);
  zeros_.assign(count, 0);
  has_zeros_ = false;
  for (size_t j = 0; j < count; ++j) {
    const size_t at = zero_for_each ? j : 0;
    const int zero = filter_signed_ ? static_cast<const int8_t*>(zeros)[at] : static_cast<const uint8_t*>(zeros)[at];
    zeros_[j] = filter_signed_ || by_channel_ ? zero : zero - kFlip;
    has_zeros_ |= zeros_[j] != 0;
  }
  const auto* bytes = static_cast<const uint8_t*>(filter);
  if (by_channel_) return channels_.pack(bytes, zeros_, packed);
  std::memset(packed, 0, static_cast<size_t>(packed_bytes()));
  for (int64_t g = 0; g <= shape_.groups(); ++g) {
    int8_t* to = packed + g * packed_group_bytes();
    if (tile_.wide)
      pack_group(bytes, g, reinterpret_cast<int16_t*>(to));
    else
      pack_group(bytes, g, to);
  }
}

/// Behind the groups: ones in the first column.
template <class B>
void ByteConv::pack_group(const uint8_t* filter, int64_t group, B* packed) {
  constexpr int64_t kFour = gemm::kBytesAtOnce;
  if (group == shape_.groups()) {
    for (int64_t step = 0; step < image_.steps(); ++step)
      std::fill_n(packed + tile_.place(1, image_.steps(), step, 0), kFour, B{1});
    return;
  }
  const int64_t cols = channels_of_group();
  const uint8_t flip = filter_signed_ ? 0 : kFlip;
  for (int64_t j = 0; j < cols; ++j) {
    const int64_t panel = j / gemm::kByteCols / gemm::kBytePanels * gemm::kBytePanels;  // a block's first
    const auto panels = static_cast<int>(std::min<int64_t>(gemm::kBytePanels, panels_ - panel));
    B* to = packed + panel * image_.steps() * kPanel;
    int64_t sum = 0;
    for (int64_t tap = 0; tap < shape_.taps(); ++tap) {
      const uint8_t* from = filter + tap * shape_.filter_c * shape_.out_c + group * cols + j;
      for (int64_t k = 0; k < shape_.filter_c; ++k) {
        const auto value = static_cast<int8_t>(from[k * shape_.out_c] ^ flip);
        const int64_t place = image_.place(tap, k);
        const int64_t step = tile_.place(panels, image_.steps(), place / kFour, j - panel * gemm::kByteCols);
        to[step + place % kFour] = value;
        sum += value;
      }
    }
    sums_[static_cast<size_t>(group * cols + j)] = wrapped(sum);
  }
}

/// `zero`: the image's, moved as the image is.
std::vector<int32_t> ByteConv::starts(int64_t zero) const {
  const int64_t count = shape_.taps() * shape_.filter_c, cols = channels_of_group();
  std::vector<int32_t> start(static_cast<size_t>(shape_.groups() * columns_of_group()));
  for (int64_t j = 0; j < shape_.out_c; ++j) {
    const auto at = static_cast<size_t>(j);
    start[static_cast<size_t>(j / cols * columns_of_group() + j % cols)] =
        wrapped(zero * (count * zeros_[at] - sums_[at]));
  }
  return start;
}

void ByteConv::run(Parallel& parallel, const void* image, int zero, const int8_t* packed, uint8_t* ordered,
                   const ByteSink& sink) const {
  const auto* bytes = static_cast<const uint8_t*>(image);
  if (by_channel_) return channels_.run(parallel, bytes, zero, packed, sink);
  const int64_t moved = zero + (image_signed_ ? kFlip : 0);
  if (image_bytes() > 0) {
    image_.copy(parallel, bytes, static_cast<uint8_t>(moved), ordered);
    bytes = ordered;
  }
  std::vector<uint8_t> border(static_cast<size_t>(image_.depth() * gemm::kBytesAtOnce), 0);
  std::fill_n(border.begin(), shape_.filter_c, static_cast<uint8_t>(moved));
  const std::vector<int32_t> start = starts(moved);
  const Job job{bytes, packed, border.data(), start.data(), sink};
  const double ns = static_cast<double>(gemm::kByteRows * gemm::kByteCols * image_.steps()) / 25;  // of a tile's panel
  if (tiles_ >= blocks_)
    parallel.run(tiles_, ns * static_cast<double>(panels_ * shape_.groups()),
                 [&](int64_t begin, int64_t end) { run_tiles(job, begin, end, 0, blocks_); });
  else
    parallel.run(blocks_, ns * static_cast<double>(gemm::kBytePanels * tiles_ * shape_.groups()),
                 [&](int64_t begin, int64_t end) { run_tiles(job, 0, tiles_, begin, end); });
}

void ByteConv::run_tiles(const Job& job, int64_t tile_begin, int64_t tile_end, int64_t block_begin,
                         int64_t block_end) const {
  for (int64_t tile = tile_begin; tile < tile_end; tile += kTilesAtOnce) {
    const int64_t tiles = std::min(kTilesAtOnce, tile_end - tile);
    for (int64_t g = 0; g < shape_.groups(); ++g) run_group(job, g, tile, tiles, block_begin, block_end);
  }
}

// Of each pixel of a tile all that its window covers: what the filter's zero points are multiplied with.
void ByteConv::sum_images(gemm::ByteTileArgs t, const Job& job, std::vector<int32_t>& of_pixels, int64_t tile) const {
  alignas(64) int32_t sums[gemm::kByteRows * gemm::kByteCols];
  constexpr int32_t kNothing[gemm::kByteCols] = {};
  t.panels = 1;
  t.b = ones(job.packed);
  t.start = kNothing;
  t.c = sums;
  tile_.run(t);
  for (int i = 0; i < t.rows; ++i)
    of_pixels[static_cast<size_t>(tile * gemm::kByteRows + i)] = sums[i * gemm::kByteCols];
}

void ByteConv::take_zeros_off(int32_t* sums, const gemm::ByteTileArgs& t, const int32_t* of_pixels, int64_t channel,
                              int64_t cols) const {
  const auto* zeros = reinterpret_cast<const uint32_t*>(zeros_.data() + channel);
  for (int r = 0; r < t.rows; ++r) {
    auto* row = reinterpret_cast<uint32_t*>(sums + r * t.panels * gemm::kByteCols);
    const auto of_pixel = static_cast<uint32_t>(of_pixels[r]);
    for (int64_t j = 0; j < cols; ++j) row[j] -= zeros[j] * of_pixel;
  }
}

void ByteConv::run_group(const Job& job, int64_t group, int64_t tile, int64_t tiles, int64_t block_begin,
                         int64_t block_end) const {
  static constinit thread_local KeptByThread<std::vector<const uint8_t*>> kept_pointers;
  auto& pointers = kept_pointers.get();
  static constinit thread_local KeptByThread<std::vector<int32_t>> kept_of_pixels;
  auto& of_pixels = kept_of_pixels.get();
  const int64_t first_pixel = tile * gemm::kByteRows;
  const int64_t pixels = std::min(tiles * gemm::kByteRows, shape_.pixels() - first_pixel);
  image_.point(job.image, job.border, group, first_pixel, pixels, pointers);
  of_pixels.resize(static_cast<size_t>(tiles * gemm::kByteRows));
  alignas(64) int32_t sums[gemm::kByteRows * gemm::kByteCols * gemm::kBytePanels];
  const auto args = [&](int64_t i) {
    gemm::ByteTileArgs t{};
    t.rows = static_cast<int>(std::min<int64_t>(gemm::kByteRows, pixels - i * gemm::kByteRows));
    t.taps = image_.taps();
    t.depth = image_.depth();
    t.row_pointers = pointers.data() + i * gemm::kByteRows * t.taps;
    t.row_pointer_stride = gemm::kByteRows;
    t.c = sums;
    return t;
  };
  for (int64_t i = 0; has_zeros_ && i < tiles; ++i) sum_images(args(i), job, of_pixels, i);
  for (int64_t block = block_begin; block < block_end; ++block) {
    const int64_t first_panel = block * gemm::kBytePanels, first = first_panel * gemm::kByteCols;
    const auto panels = static_cast<int>(std::min<int64_t>(gemm::kBytePanels, panels_ - first_panel));
    const int64_t cols = std::min<int64_t>(panels * gemm::kByteCols, channels_of_group() - first);
    const int64_t channel = group * channels_of_group() + first;
    for (int64_t i = 0; i < tiles; ++i) {
      gemm::ByteTileArgs t = args(i);
      t.panels = panels;
      t.b = job.packed + group * packed_group_bytes() + first_panel * image_.steps() * bytes_of_panel();
      t.start = job.start + group * columns_of_group() + first;
      tile_.run(t);
      if (has_zeros_) take_zeros_off(sums, t, of_pixels.data() + i * gemm::kByteRows, channel, cols);
      job.sink.take({sums, panels * gemm::kByteCols, first_pixel + i * gemm::kByteRows, t.rows, channel, cols});
    }
  }
}

}  // namespace emplace
