#include "core/device/gpu_environment.h"

#include <cstdlib>

namespace emplace {

void set_gpu_environment(bool deterministic) {
  constexpr int kKeepIfSet = 0;
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", kKeepIfSet);
  if (!deterministic) return;
  setenv("NCCL_ALGO", "Ring", kKeepIfSet);
  setenv("NCCL_PROTO", "Simple", kKeepIfSet);
}

}  // namespace emplace
