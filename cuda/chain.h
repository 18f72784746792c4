/// The argument of a compiled chain (core/device/gpu.h, GpuChain). NVRTC reads it too.
#pragma once

#include <cstdint>

namespace emplace::cuda {

inline constexpr int kMaxChainInputs = 16, kMaxChainOutputs = 16;

struct ChainWork {
  const void* in[kMaxChainInputs];
  void* out[kMaxChainOutputs];
  int64_t elements;
};

}  // namespace emplace::cuda
