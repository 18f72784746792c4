/// What a kernel may know of its device: KernelInit::gpu.
#pragma once

#include "core/op/kernel.h"

namespace emplace::cuda {

struct DeviceState {
  int device = 0;                              // CUDA's ordinal
  bool deterministic = false;                  // only algorithms that give the same bytes on every run
  bool tf32 = false;                           // --matmul-precision=tf32
  int64_t workspace_limit = int64_t{1} << 30;  // bytes that a library's plan may ask for
  int place = 0;                               // among the logical GPUs of the card that live at this time
  int stream_priority = 0;
};

/// REQUIRES: a kernel of the plug-in. Outlives it. In tests of single kernels there is none: the defaults.
inline const DeviceState& device_of(const KernelInit& init) {
  static const DeviceState kDefault;
  return init.gpu ? *static_cast<const DeviceState*>(init.gpu) : kDefault;
}

}  // namespace emplace::cuda
