// ByteConv against plain sums, and the byte tiles of all processors against each other.
#include "core/ops/conv/byte_conv.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/isa_limit.h"
#include "core/tensor/tensor.h"

using namespace emplace;

namespace {

struct Bytes {
  bool is_signed;
  std::vector<uint8_t> of;
  int at(int64_t i) const {
    const uint8_t v = of[static_cast<size_t>(i)];
    return is_signed ? static_cast<int8_t>(v) : v;
  }
};

Bytes drawn(std::mt19937& random, int64_t n, bool is_signed) {
  Bytes b{is_signed, std::vector<uint8_t>(static_cast<size_t>(n))};
  for (uint8_t& v : b.of) v = static_cast<uint8_t>(random());
  return b;
}

class Kept final : public ByteSink {
 public:
  explicit Kept(const ConvShape& s) : channels_(s.out_c), sums(static_cast<size_t>(s.pixels() * s.out_c)) {}
  void take(const ByteSums& s) const override {
    for (int64_t p = 0; p < s.pixels; ++p) {
      std::memcpy(sums.data() + (s.pixel + p) * channels_ + s.first, s.sums + p * s.stride,
                  static_cast<size_t>(s.cols) * sizeof(int32_t));
    }
  }

 private:
  int64_t channels_;

 public:
  mutable std::vector<int32_t> sums;
};

std::vector<int32_t> plain_sums(const ConvShape& s, const Bytes& x, int zero, const Bytes& filter, const Bytes& zeros) {
  std::vector<int32_t> out;
  const int64_t of_group = s.out_c / s.groups();
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t p = 0; p < s.out_h * s.out_w; ++p) {
      for (int64_t c = 0; c < s.out_c; ++c) {
        int64_t sum = 0;
        for (int64_t tap = 0; tap < s.taps(); ++tap) {
          const int64_t row = p / s.out_w * s.stride_h - s.pad_top + tap / s.window_w * s.dilation_h;
          const int64_t col = p % s.out_w * s.stride_w - s.pad_left + tap % s.window_w * s.dilation_w;
          if (row < 0 || row >= s.in_h || col < 0 || col >= s.in_w) continue;
          const int64_t from = ((n * s.in_h + row) * s.in_w + col) * s.in_c + c / of_group * s.filter_c;
          for (int64_t k = 0; k < s.filter_c; ++k)
            sum += (x.at(from + k) - zero) *
                   (filter.at((tap * s.filter_c + k) * s.out_c + c) - zeros.at(zeros.of.size() == 1 ? 0 : c));
        }
        out.push_back(static_cast<int32_t>(sum));
      }
    }
  }
  return out;
}

std::vector<int32_t> sums_of(const ConvShape& s, const Bytes& x, int zero, const Bytes& filter, const Bytes& zeros) {
  ByteConv conv(s, x.is_signed, filter.is_signed);
  auto packed = Tensor::allocate(DType::kInt8, Shape{conv.packed_bytes()});
  auto ordered = Tensor::allocate(DType::kUInt8, Shape{conv.image_bytes()});
  conv.pack(filter.of.data(), zeros.of.data(), zeros.of.size() > 1, packed->data<int8_t>());
  Kept kept(s);
  Sequential sequential;
  conv.run(sequential, x.of.data(), zero, packed->data<int8_t>(), ordered->data<uint8_t>(), kept);
  return kept.sums;
}

ConvShape drawn_shape(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
  ConvShape s;
  const int64_t groups = 1 + below(3);
  s.batch = 1 + below(2), s.filter_c = 1 + below(9), s.in_c = s.filter_c * groups, s.out_c = groups * (1 + below(80));
  if (below(4) == 0) s.filter_c = 1, s.in_c = s.out_c = 2 + below(40);
  s.window_h = 1 + below(3), s.window_w = 1 + below(3), s.dilation_w = 1 + below(2);
  s.in_h = s.window_h + below(6), s.in_w = s.window_w * 2 + below(8);
  s.stride_h = 1 + below(2), s.stride_w = 1 + below(2), s.pad_top = below(2), s.pad_left = below(2);
  s.out_h = (s.in_h + s.pad_top + below(2) - s.window_h) / s.stride_h + 1;
  s.out_w = (s.in_w + s.pad_left + below(2) - (s.window_w - 1) * s.dilation_w - 1) / s.stride_w + 1;
  return s;
}

}  // namespace

TEST_CASE("convolutions of bytes are exact whatever their types, zero points, groups and borders, on every processor") {
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    const ConvShape s = drawn_shape(random);
    const Bytes x = drawn(random, s.batch * s.in_h * s.in_w * s.in_c, random() % 2 == 0);
    const Bytes filter = drawn(random, s.taps() * s.filter_c * s.out_c, random() % 2 == 0);
    const Bytes zeros = drawn(random, random() % 2 == 0 ? 1 : s.out_c, filter.is_signed);
    const int zero = drawn(random, 1, x.is_signed).at(0);
    const std::vector<int32_t> want = plain_sums(s, x, zero, filter, zeros);
    CAPTURE(i);
    for (const std::optional<Isa> isa : {std::optional<Isa>(), std::optional(Isa::kV3), std::optional(Isa::kBase)}) {
      const IsaLimit limit(isa);
      CHECK(sums_of(s, x, zero, filter, zeros) == want);
    }
  }
}

TEST_CASE("all byte tiles make the same integers, also those that wrap around") {
  std::mt19937 random(3);
  constexpr int64_t kDepth = 9000;  // 36,000 products of 255 * 127 pass 2^31
  constexpr int64_t kBytes = kDepth * gemm::kBytePanels * gemm::kByteCols * gemm::kBytesAtOnce;
  alignas(64) static int8_t b[kBytes];
  alignas(64) static int16_t wide_b[kBytes];
  static uint8_t a[gemm::kByteRows][kDepth * gemm::kBytesAtOnce];
  for (int8_t& v : b) v = static_cast<int8_t>(random() % 4 == 0 ? random() : 127);
  int32_t start[gemm::kBytePanels * gemm::kByteCols];
  for (int32_t& v : start) v = static_cast<int32_t>(random());
  const uint8_t* rows[gemm::kByteRows];
  for (int i = 0; i < gemm::kByteRows; ++i) {
    for (uint8_t& v : a[i]) v = static_cast<uint8_t>(random() % 4 == 0 ? random() : 255);
    rows[i] = a[i];
  }
  for (int r = 1; r <= gemm::kByteRows; ++r) {
    for (int panels = 1; panels <= gemm::kBytePanels; ++panels) {
      const auto made = [&](const gemm::ByteTile& tile) {
        for (int64_t step = 0; step < kDepth; ++step) {
          for (int64_t column = 0; column < panels * gemm::kByteCols; ++column) {
            std::copy_n(b + (step * panels * gemm::kByteCols + column) * gemm::kBytesAtOnce, gemm::kBytesAtOnce,
                        wide_b + tile.place(panels, kDepth, step, column));
          }
        }
        std::vector<int32_t> c(static_cast<size_t>(r * panels * gemm::kByteCols));
        tile.run(
            {r, panels, 1, kDepth, rows, gemm::kByteRows, tile.wide ? static_cast<void*>(wide_b) : b, start, c.data()});
        return c;
      };
      const std::vector<gemm::ByteTile> tiles = gemm::byte_tiles();
      const std::vector<int32_t> want = made(tiles.back());
      for (const gemm::ByteTile& t : tiles) {
        CAPTURE(t.name, r, panels);
        CHECK(made(t) == want);
      }
    }
  }
}
