// Part of core/device/gpu_plugin.h: the one symbol that the plug-in exports.
#include "core/device/gpu_plugin.h"
#include "cuda/backend.h"

extern "C" __attribute__((visibility("default"))) const emplace::GpuPluginInfo* emplace_cuda_plugin() {
  using namespace emplace;
  static const GpuPluginInfo kInfo = [] {
    GpuPluginInfo info;
    info.backend = []() -> GpuBackend* {
      static auto* const kBackend = new cuda::CudaBackend;
      return kBackend;
    };
    return info;
  }();
  return &kInfo;
}
