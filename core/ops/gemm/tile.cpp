#include "core/ops/gemm/tile.h"

namespace emplace::gemm {
namespace {

template <class T>
const Kernels<T>& choose() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return kernels_v4<T>();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return kernels_v3<T>();
  return kernels_baseline<T>();
}

}  // namespace

template <>
const Kernels<float>& kernels<float>() {
  static const Kernels<float>& chosen = choose<float>();
  return chosen;
}
template <>
const Kernels<double>& kernels<double>() {
  static const Kernels<double>& chosen = choose<double>();
  return chosen;
}
template <>
const Kernels<uint32_t>& kernels<uint32_t>() {
  static const Kernels<uint32_t>& chosen = choose<uint32_t>();
  return chosen;
}

}  // namespace emplace::gemm
