// Part of core/ops/gemm/tile.h: Tile kernels for AVX2 and FMA (x86-64-v3).
#define EMPLACE_TILE kTileOfV3
#include "core/ops/gemm/tile_impl.h"

namespace emplace::gemm {

template <>
const Kernels<float>& kernels_v3<float>() {
  return table<float>();
}
template <>
const Kernels<double>& kernels_v3<double>() {
  return table<double>();
}
template <>
const Kernels<uint32_t>& kernels_v3<uint32_t>() {
  return table<uint32_t>();
}

}  // namespace emplace::gemm
