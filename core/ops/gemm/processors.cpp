#include "core/ops/gemm/processors.h"

namespace emplace::gemm {
namespace {

constexpr int64_t kKiB = 1 << 10;

// In the order of Isa. Every L1 here has ways of 4 KiB, 8 of them or 12, and every L2 at least 1 MiB, so that the rows
// are alike so far.
constexpr Processor kTable[] = {
    // small, near, sink, stride of rows, of images, images
    {24 * kKiB, 512 * kKiB, 2048, 4096, 2048, 6},  // base
    {24 * kKiB, 512 * kKiB, 2048, 4096, 2048, 6},  // v3
    {24 * kKiB, 512 * kKiB, 2048, 4096, 2048, 6},  // v4
};

}  // namespace

const char* isa_name(Isa isa) { return isa == Isa::kV4 ? "AVX-512" : isa == Isa::kV3 ? "AVX2" : "SSE2"; }

const Processor& processor() { return kTable[static_cast<int>(isa())]; }

}  // namespace emplace::gemm
