/// Chains (core/device/gpu.h) as CUDA C++.
#pragma once

#include <span>
#include <string>

#include "core/device/gpu.h"
#include "cuda/nvrtc.h"

namespace emplace::cuda {

/// What the text of chains includes, and what stands for the C++ library.
std::span<const SourceHeader> chain_headers();
/// To be included before everything else.
inline constexpr const char* kChainPrelude = "cuda/rtc/std.h";

struct ChainSource {
  std::string text;  // of `extern "C" __global__ void emplace_chain(ChainWork)`
  int pack = 1;      // elements of a thread
};
/// REQUIRES: kernels that are ChainableKernels with a function.
ChainSource chain_source(const GpuChain& chain);

}  // namespace emplace::cuda
