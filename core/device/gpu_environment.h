/// What the libraries of GPUs read from the environment.
#pragma once

namespace emplace {

/// Sets what is not set: CUDA numbers the cards as nvidia-smi does; `deterministic`: NCCL has one ring and one
/// protocol, whatever the sizes. REQUIRES: there is no other thread, which might read the environment meanwhile.
void set_gpu_environment(bool deterministic);

}  // namespace emplace
