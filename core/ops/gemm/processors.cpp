#include "core/ops/gemm/processors.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace emplace::gemm {
namespace {

constexpr int64_t kKiB = 1 << 10;

// In the order of Isa. Every L1 here has ways of 4 KiB, 8 of them or 12, so that the rows are alike so far; `near` is
// that of an L2 of 1 MiB. far: 728 channels to 728, 37 x 37 pixels, give 187 GF/s whole, 221 in blocks; a smaller
// filter is back in cache for the next tile, and what follows the convolution finds its rows there. last: asking ahead
// for less would cost gradients of filters 2 to 7 %. cached: 32 MiB is what a virtual machine's processors share of an
// L3 of 336 MiB, which is what it tells.
constexpr std::array<Processor, 3> kTable = {{
    // small, near, far, tiles, band, last, cached, sink, stride of rows, of images, images
    {24 * kKiB, 512 * kKiB, 4, 4, 32 * kKiB, 8192 * kKiB, 49152 * kKiB, 2048, 4096, 2048, 6},  // base
    {24 * kKiB, 512 * kKiB, 4, 4, 32 * kKiB, 8192 * kKiB, 49152 * kKiB, 2048, 4096, 2048, 6},  // v3
    {24 * kKiB, 512 * kKiB, 4, 4, 32 * kKiB, 8192 * kKiB, 49152 * kKiB, 2048, 4096, 2048, 6},  // v4
}};

// A virtual machine may say anything, or nothing.
std::array<Processor, 3> with_caches() {
  std::array<Processor, 3> rows = kTable;
#ifdef _SC_LEVEL2_CACHE_SIZE
  if (const long second = sysconf(_SC_LEVEL2_CACHE_SIZE); second > 0) {
    for (Processor& p : rows) p.near_bytes = std::clamp<int64_t>(second / 2, 256 * kKiB, 1024 * kKiB);
  }
#endif
  return rows;
}

}  // namespace

const char* isa_name(Isa isa) { return isa == Isa::kV4 ? "AVX-512" : isa == Isa::kV3 ? "AVX2" : "SSE2"; }

const Processor& processor() {
  static const std::array<Processor, 3> kRows = with_caches();
  return kRows[static_cast<size_t>(isa())];
}

}  // namespace emplace::gemm
