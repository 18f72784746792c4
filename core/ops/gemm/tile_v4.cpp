// Part of core/ops/gemm/tile.h: Tile kernels for AVX-512 (x86-64-v4).
#define EMPLACE_TILE kTileOfV4
#include "core/ops/gemm/tile_impl.h"

namespace emplace::gemm {

template <>
const Kernels<float>& kernels_v4<float>() {
  return table<float>();
}
template <>
const Kernels<double>& kernels_v4<double>() {
  return table<double>();
}
template <>
const Kernels<uint32_t>& kernels_v4<uint32_t>() {
  return table<uint32_t>();
}

}  // namespace emplace::gemm
