// Part of core/ops/gemm/tile.h: Tile kernels for every x86-64.
#define EMPLACE_TILE kTileOfBase
#include "core/ops/gemm/tile_impl.h"

namespace emplace::gemm {

template <>
const Kernels<float>& kernels_baseline<float>() {
  return table<float>();
}
template <>
const Kernels<double>& kernels_baseline<double>() {
  return table<double>();
}
template <>
const Kernels<uint32_t>& kernels_baseline<uint32_t>() {
  return table<uint32_t>();
}

}  // namespace emplace::gemm
