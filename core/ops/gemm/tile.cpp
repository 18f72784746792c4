#include "core/ops/gemm/tile.h"

#include "core/ops/kit/isa.h"

namespace emplace::gemm {
namespace {

template <class T>
const Kernels<T>& choose() {
  return for_isa(&kernels_baseline<T>, &kernels_v3<T>, &kernels_v4<T>)();
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
