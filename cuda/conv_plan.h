/// Convolutions by a library: cuDNN, which is loaded at the first one; on the stand-in a plain loop, where a test asks
/// for it. One plan is one problem on one card: it is chosen once and kept, so every run gives the same bytes.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "core/op/kernel.h"
#include "core/ops/conv/conv_shape.h"
#include "cuda/device_state.h"

namespace emplace::cuda {

enum class ConvPass : uint8_t { kForward, kInputGradient, kFilterGradient };

/// Images as they are: [n, h, w, c] (`channels_last`) or [n, c, h, w]. The filter as libraries want it beside them:
/// [out, h, w, in] or [out, in, h, w].
struct ConvProblem {
  ConvPass pass = ConvPass::kForward;
  DType type = DType::kFloat;
  ConvShape shape;
  bool channels_last = true;
  int64_t pad_bottom = 0,
          pad_right = 0;  // up to the last cell that a window covers: what lies further is read by nobody

  static ConvProblem of(ConvPass pass, DType type, const ConvShape& shape, bool channels_last);
};

/// Device addresses, one of which is written: the output of the forward pass, or what the gradient is of.
struct ConvTensors {
  void *image = nullptr, *filter = nullptr, *out = nullptr;
};

class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  /// Device memory that run() needs.
  virtual size_t workspace_bytes() const = 0;
  virtual Status run(cudaStream_t stream, const ConvTensors& tensors, void* workspace) const = 0;

  /// The same plan for the same problem. Unavailable: no library, or it has nothing for this problem within the
  /// device's workspace.
  static Result<std::shared_ptr<const ConvPlan>> find(const ConvProblem& problem, const DeviceState& device);
};

}  // namespace emplace::cuda
