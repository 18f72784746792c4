/// Loads the CUDA plug-in, libemplace_cuda.so, and says precisely why there is no GPU to be had through it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/device/gpu.h"

namespace emplace {

/// The one symbol that the plug-in exports: `const GpuPluginInfo* emplace_cuda_plugin()`.
inline constexpr char kGpuPluginSymbol[] = "emplace_cuda_plugin";
inline constexpr char kGpuPluginFile[] = "libemplace_cuda.so";
/// Counts changes of the interfaces between program and plug-in (core/device/gpu.h, core/op/kernel.h, core/tensor).
inline constexpr uint32_t kGpuPluginAbi = 8;

/// Sizes of what crosses the border: a plug-in of another build is refused, not run.
struct GpuPluginInfo {
  uint32_t abi = kGpuPluginAbi;
  uint32_t tensor_bytes = sizeof(Tensor), context_bytes = sizeof(KernelContext), init_bytes = sizeof(KernelInit),
           card_bytes = sizeof(PhysicalGpu), variable_bytes = sizeof(Variable);
  GpuBackend* (*backend)() = nullptr;  // lives forever

  bool fits(const GpuPluginInfo& other) const {
    return abi == other.abi && tensor_bytes == other.tensor_bytes && context_bytes == other.context_bytes &&
           init_bytes == other.init_bytes && card_bytes == other.card_bytes && variable_bytes == other.variable_bytes;
  }
};

/// Its files, those of a container, or WSL's.
bool has_nvidia_driver();

/// What EMPLACE_CUDA_PLUGIN names, else the plug-in beside the program; empty: there is none.
std::string gpu_plugin_file(const char* (*environment)(const char*));

/// Opens that plug-in. Unavailable: no driver (then nothing
/// is loaded), no such file, a file that cannot be loaded, or one of another build. It stays loaded.
Result<GpuBackend*> load_gpu_plugin(const char* (*environment)(const char*));

}  // namespace emplace
