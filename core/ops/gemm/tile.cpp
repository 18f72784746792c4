#include "core/ops/gemm/tile.h"

#include "core/ops/kit/isa.h"

namespace emplace::gemm {
namespace {

template <class T>
const Kernels<T>& choose() {
  return for_isa(&kernels_baseline<T>, &kernels_v3<T>, &kernels_v4<T>)();
}

}  // namespace

// Asked anew each time, which takes a few nanoseconds a product: an IsaLimit may be there.
template <>
const Kernels<float>& kernels<float>() {
  return choose<float>();
}
template <>
const Kernels<double>& kernels<double>() {
  return choose<double>();
}
template <>
const Kernels<uint32_t>& kernels<uint32_t>() {
  return choose<uint32_t>();
}

}  // namespace emplace::gemm
