#include "core/ops/conv/byte_conv.h"

#include <algorithm>
#include <cstring>

namespace emplace {
namespace {

constexpr uint8_t kFlip = 128;        // between int8 and uint8, either way
constexpr int64_t kTilesAtOnce = 16;  // whose pixels stay in cache while the filter passes by

int32_t wrapped(int64_t v) { return static_cast<int32_t>(static_cast<uint32_t>(v)); }

}  // namespace

ByteConv::ByteConv(const ConvShape& shape, bool image_signed, bool filter_signed)
    : shape_(shape), image_signed_(image_signed), filter_signed_(filter_signed) {
  by_channel_ = ByteChannels::fits(shape);
  if (by_channel_) channels_ = ByteChannels(shape, image_signed, filter_signed);
  ordered_ = image_signed || shape.filter_c % gemm::kBytesAtOnce != 0;
  depth_ = (shape.filter_c + gemm::kBytesAtOnce - 1) / gemm::kBytesAtOnce;
  panels_ = (channels_of_group() + gemm::kByteCols - 1) / gemm::kByteCols;
  blocks_ = (panels_ + gemm::kBytePanels - 1) / gemm::kBytePanels;
  tiles_ = (shape.pixels() + gemm::kByteRows - 1) / gemm::kByteRows;
}

int64_t ByteConv::packed_bytes() const {
  if (by_channel_) return channels_.packed_bytes();
  const int64_t panel_of_ones = steps() * gemm::kByteCols * gemm::kBytesAtOnce;
  return shape_.groups() * packed_group_bytes() + panel_of_ones;
}

int64_t ByteConv::image_bytes() const {
  return by_channel_ || !ordered_ ? 0 : shape_.batch * shape_.in_h * shape_.in_w * bytes_of_pixel();
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
  for (int64_t g = 0; g < shape_.groups(); ++g) pack_group(bytes, g, packed + g * packed_group_bytes());
  int8_t* one = packed + shape_.groups() * packed_group_bytes();
  for (int64_t step = 0; step < steps(); ++step, one += gemm::kByteCols * gemm::kBytesAtOnce)
    std::memset(one, 1, gemm::kBytesAtOnce);
}

void ByteConv::pack_group(const uint8_t* filter, int64_t group, int8_t* packed) {
  constexpr int64_t kFour = gemm::kBytesAtOnce, kPanel = gemm::kByteCols * kFour;
  const int64_t cols = channels_of_group();
  const uint8_t flip = filter_signed_ ? 0 : kFlip;
  for (int64_t j = 0; j < cols; ++j) {
    const int64_t panel = j / gemm::kByteCols, block = panel / gemm::kBytePanels;
    const int64_t in_block = std::min<int64_t>(gemm::kBytePanels, panels_ - block * gemm::kBytePanels);
    int8_t* to = packed + block * gemm::kBytePanels * steps() * kPanel + panel % gemm::kBytePanels * kPanel +
                 j % gemm::kByteCols * kFour;
    int64_t sum = 0;
    for (int64_t tap = 0; tap < shape_.taps(); ++tap) {
      const uint8_t* from = filter + tap * shape_.filter_c * shape_.out_c + group * cols + j;
      for (int64_t k = 0; k < shape_.filter_c; ++k) {
        const auto value = static_cast<int8_t>(from[k * shape_.out_c] ^ flip);
        to[(tap * depth_ + k / kFour) * in_block * kPanel + k % kFour] = value;
        sum += value;
      }
    }
    sums_[static_cast<size_t>(group * cols + j)] = wrapped(sum);
  }
}

// Groups of channels begin at a step; what fills one up meets zeros of the filter.
void ByteConv::order_image(Parallel& parallel, const uint8_t* image, uint8_t* to) const {
  const int64_t group_bytes = bytes_of_group(), pixel_bytes = bytes_of_pixel();
  const uint8_t flip = image_signed_ ? kFlip : 0;
  const int64_t pixels = shape_.batch * shape_.in_h * shape_.in_w;
  parallel.run(pixels, static_cast<double>(pixel_bytes) * 0.1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      for (int64_t g = 0; g < shape_.groups(); ++g) {
        const uint8_t* from = image + p * shape_.in_c + g * shape_.filter_c;
        uint8_t* out = to + p * pixel_bytes + g * group_bytes;
        for (int64_t k = 0; k < shape_.filter_c; ++k) out[k] = from[k] ^ flip;
        for (int64_t k = shape_.filter_c; k < group_bytes; ++k) out[k] = 0;
      }
    }
  });
}

void ByteConv::run(Parallel& parallel, const void* image, int zero, const int8_t* packed, uint8_t* ordered,
                   const ByteSink& sink) const {
  const auto* bytes = static_cast<const uint8_t*>(image);
  if (by_channel_) return channels_.run(parallel, bytes, zero, packed, sink);
  if (ordered_) {
    order_image(parallel, bytes, ordered);
    bytes = ordered;
  }
  const int64_t moved = zero + (image_signed_ ? kFlip : 0), count = shape_.taps() * shape_.filter_c;
  std::vector<uint8_t> border(static_cast<size_t>(depth_ * gemm::kBytesAtOnce), 0);
  std::fill_n(border.begin(), shape_.filter_c, static_cast<uint8_t>(moved));
  std::vector<int32_t> part(sums_.size());
  for (size_t j = 0; j < part.size(); ++j) part[j] = wrapped(moved * (count * zeros_[j] - sums_[j]));
  const Job job{bytes, packed, border.data(), part.data(), gemm::byte_tile(), sink};
  const double ns = static_cast<double>(gemm::kByteRows * gemm::kByteCols * steps()) / 25;  // of a tile's panel
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

void ByteConv::point_to_pixels(const Job& job, int64_t group, int64_t tile, int64_t tiles,
                               std::vector<const uint8_t*>& pointers) const {
  const ConvShape& s = shape_;
  const int64_t first = tile * gemm::kByteRows, step = bytes_of_pixel();
  const int64_t count = std::min(tiles * gemm::kByteRows, s.pixels() - first);
  pointers.resize(static_cast<size_t>(tiles * gemm::kByteRows * s.taps()));
  for (int64_t p = 0; p < count; ++p) {
    const int64_t pixel = first + p, x = pixel % s.out_w, y = pixel / s.out_w % s.out_h;
    const uint8_t* image = job.image + pixel / (s.out_w * s.out_h) * s.in_h * s.in_w * step + group * bytes_of_group();
    const uint8_t** to = pointers.data() + p / gemm::kByteRows * gemm::kByteRows * s.taps() + p % gemm::kByteRows;
    for (int64_t i = 0; i < s.window_h; ++i) {
      const int64_t row = y * s.stride_h - s.pad_top + i * s.dilation_h;
      for (int64_t j = 0; j < s.window_w; ++j, to += gemm::kByteRows) {
        const int64_t col = x * s.stride_w - s.pad_left + j * s.dilation_w;
        const bool inside = row >= 0 && row < s.in_h && col >= 0 && col < s.in_w;
        *to = inside ? image + (row * s.in_w + col) * step : job.border;
      }
    }
  }
}

// Of each pixel of a tile all that its window covers: what the filter's zero points are multiplied with.
void ByteConv::sum_images(gemm::ByteTileArgs t, const Job& job, std::vector<int32_t>& of_pixels, int64_t tile) const {
  alignas(64) int32_t sums[gemm::kByteRows * gemm::kByteCols];
  t.panels = 1;
  t.b = ones(job.packed);
  t.c = sums;
  job.tile(t);
  for (int i = 0; i < t.rows; ++i)
    of_pixels[static_cast<size_t>(tile * gemm::kByteRows + i)] = sums[i * gemm::kByteCols];
}

void ByteConv::run_group(const Job& job, int64_t group, int64_t tile, int64_t tiles, int64_t block_begin,
                         int64_t block_end) const {
  constexpr int64_t kPanel = gemm::kByteCols * gemm::kBytesAtOnce;
  thread_local std::vector<const uint8_t*> pointers;
  thread_local std::vector<int32_t> of_pixels;
  point_to_pixels(job, group, tile, tiles, pointers);
  of_pixels.resize(static_cast<size_t>(tiles * gemm::kByteRows));
  alignas(64) int32_t sums[gemm::kByteRows * gemm::kByteCols * gemm::kBytePanels];
  const auto args = [&](int64_t i) {
    gemm::ByteTileArgs t{};
    t.rows = static_cast<int>(std::min<int64_t>(gemm::kByteRows, shape_.pixels() - (tile + i) * gemm::kByteRows));
    t.taps = shape_.taps();
    t.depth = depth_;
    t.row_pointers = pointers.data() + i * gemm::kByteRows * shape_.taps();
    t.row_pointer_stride = gemm::kByteRows;
    t.c = sums;
    return t;
  };
  for (int64_t i = 0; has_zeros_ && i < tiles; ++i) sum_images(args(i), job, of_pixels, i);
  for (int64_t block = block_begin; block < block_end; ++block) {
    const int64_t first = block * gemm::kBytePanels * gemm::kByteCols;
    const auto panels = static_cast<int>(std::min<int64_t>(gemm::kBytePanels, panels_ - block * gemm::kBytePanels));
    const int64_t cols = std::min<int64_t>(panels * gemm::kByteCols, channels_of_group() - first);
    const int64_t channel = group * channels_of_group() + first;
    for (int64_t i = 0; i < tiles; ++i) {
      gemm::ByteTileArgs t = args(i);
      t.panels = panels;
      t.b = job.packed + group * packed_group_bytes() + block * gemm::kBytePanels * steps() * kPanel;
      job.tile(t);
      for (int r = 0; r < t.rows; ++r) {
        auto* row = reinterpret_cast<uint32_t*>(sums + r * panels * gemm::kByteCols);
        const auto* part = reinterpret_cast<const uint32_t*>(job.part_of_filter + channel);
        for (int64_t j = 0; j < cols; ++j) row[j] += part[j];
        if (has_zeros_) {
          const auto of_pixel = static_cast<uint32_t>(of_pixels[static_cast<size_t>(i * gemm::kByteRows + r)]);
          const auto* zeros = reinterpret_cast<const uint32_t*>(zeros_.data() + channel);
          for (int64_t j = 0; j < cols; ++j) row[j] -= zeros[j] * of_pixel;
        }
        job.sink.take(reinterpret_cast<const int32_t*>(row), (tile + i) * gemm::kByteRows + r, channel, cols);
      }
    }
  }
}

}  // namespace emplace
