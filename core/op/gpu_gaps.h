/// What keeps a GPU's kernels from being all that TensorFlow registers for the ops that run here: a list, with reasons.
/// --kernels available places by it, and a test holds the CUDA plug-in to it.
#pragma once

#include <span>
#include <string_view>

#include "core/base/dtype.h"

namespace emplace {

/// TensorFlow has this kernel for a GPU, emplace for the CPU only. `type` is that of the op's kernel attr
/// (core/op/kernel_attr.h), kInvalid: all of them, or the op has no such attr. An empty `op` is any.
struct GpuGap {
  std::string_view op;
  DType type;
  std::string_view reason;
};

std::span<const GpuGap> gpu_gaps();
/// Null: there is such a kernel, or TensorFlow has none.
const GpuGap* find_gpu_gap(std::string_view op, DType type);
bool covers(const GpuGap& gap, std::string_view op, DType type);

}  // namespace emplace
