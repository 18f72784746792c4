#include "core/ops/gemm/processors.h"

namespace emplace::gemm {
namespace {

constexpr int64_t kKiB = 1 << 10;

// In the order of Isa. Every L1 here has ways of 4 KiB, 8 of them or 12, and every L2 at least 1 MiB; of one with 2 MiB
// (Sapphire Rapids) as much counts as near: 1000 KiB made ResNet50 no faster there.
constexpr Processor kTable[] = {
    // isa, tile, small, near, sink, stride of rows, of images, images
    {Isa::kBase, kTileOfBase, 24 * kKiB, 512 * kKiB, 2048, 4096, 2048, 6},
    {Isa::kV3, kTileOfV3, 24 * kKiB, 512 * kKiB, 2048, 4096, 2048, 6},
    {Isa::kV4, kTileOfV4, 24 * kKiB, 512 * kKiB, 2048, 4096, 2048, 6},
};

}  // namespace

const char* isa_name(Isa isa) { return isa == Isa::kV4 ? "AVX-512" : isa == Isa::kV3 ? "AVX2" : "SSE2"; }

const Processor& processor() { return kTable[static_cast<int>(isa())]; }

}  // namespace emplace::gemm
