/// Epilogue: what the fused ops (_FusedConv2D, _FusedMatMul, FusedDepthwiseConv2dNative) do after their product: a
/// bias or batch normalisation per channel, then an activation.
#pragma once

#include <cmath>
#include <string>

#include "core/base/scratch_vector.h"
#include "core/op/kernel.h"
#include "core/ops/conv/direct_conv.h"
#include "core/ops/conv/image.h"

namespace emplace {

enum class Activation : uint8_t { kNone, kRelu, kRelu6, kElu, kLeakyRelu, kPrelu, kSigmoid, kTanh };

/// The attr fused_ops, read once. InvalidArgument for a combination that does not exist.
struct FusedOps {
  bool bias = false, batch_norm = false;
  Activation activation = Activation::kNone;
  float leaky_alpha = 0.2f;
  float epsilon = 1e-4f;

  static Result<FusedOps> from(const Attrs& attrs);
  /// InvalidArgument unless the attr num_args is what these need.
  Status check_num_args(const Attrs& attrs) const;
  int num_args() const { return (bias ? 1 : 0) + (batch_norm ? 4 : 0) + (activation == Activation::kPrelu ? 1 : 0); }
};

/// One step's epilogue: the arguments as per-channel factors. C: the computing type.
template <class C>
class Epilogue {
 public:
  /// Arguments are the inputs from `first_input` on. InvalidArgument if their sizes do not fit `channels`.
  template <class T>
  Status prepare(KernelContext& c, const FusedOps& ops, int first_input, int64_t channels);

  /// c[i, j] for `cols` channels from `first` on; the form that ConvEpilogue wants.
  static void apply(const void* self, C* c, int rows, int64_t cols, int64_t step, int64_t first) {
    static_cast<const Epilogue*>(self)->run(c, rows, cols, step, first);
  }
  void run(C* c, int rows, int64_t cols, int64_t step, int64_t first) const;

 private:
  FusedOps ops_;
  ScratchVector<C> scale_, offset_, alpha_;
};

template <class C>
template <class T>
Status Epilogue<C>::prepare(KernelContext& c, const FusedOps& ops, int first_input, int64_t channels) {
  ops_ = ops;
  auto read = [&](int i, ScratchVector<C>& out) -> Status {
    const Tensor& t = c.input(i);
    if (t.num_elements() != channels) {
      return invalid_argument("argument " + std::to_string(i) + " of a fused op must have one element per channel, " +
                              std::to_string(channels) + ", but has shape " + t.shape().to_string());
    }
    out.resize(static_cast<size_t>(channels));
    for (int64_t k = 0; k < channels; ++k) out[static_cast<size_t>(k)] = static_cast<C>(t.data<T>()[k]);
    return ok_status();
  };
  int next = first_input;
  if (ops.bias) RETURN_IF_ERROR(read(next++, offset_));
  if (ops.batch_norm) {
    ScratchVector<C> mean, variance;
    RETURN_IF_ERROR(read(next, scale_));
    RETURN_IF_ERROR(read(next + 1, offset_));
    RETURN_IF_ERROR(read(next + 2, mean));
    RETURN_IF_ERROR(read(next + 3, variance));
    next += 4;
    for (size_t k = 0; k < scale_.size(); ++k) {
      scale_[k] = scale_[k] / std::sqrt(variance[k] + static_cast<C>(ops.epsilon));
      offset_[k] -= mean[k] * scale_[k];
    }
  }
  if (ops.activation == Activation::kPrelu) RETURN_IF_ERROR(read(next, alpha_));
  return ok_status();
}

template <class C>
void Epilogue<C>::run(C* c, int rows, int64_t cols, int64_t step, int64_t first) const {
  const C* offset = offset_.empty() ? nullptr : offset_.data() + first;
  const C* scale = scale_.empty() ? nullptr : scale_.data() + first;
  for (int i = 0; i < rows; ++i, c += step) {
    if (scale) {
      for (int64_t j = 0; j < cols; ++j) c[j] = c[j] * scale[j] + offset[j];
    } else if (offset) {
      for (int64_t j = 0; j < cols; ++j) c[j] += offset[j];
    }
    // Written so that NaN passes through, as TensorFlow's activations do.
    switch (ops_.activation) {
      case Activation::kNone:
        break;
      case Activation::kRelu:
        for (int64_t j = 0; j < cols; ++j) c[j] = c[j] < C(0) ? C(0) : c[j];
        break;
      case Activation::kRelu6:
        for (int64_t j = 0; j < cols; ++j) c[j] = c[j] < C(0) ? C(0) : c[j] > C(6) ? C(6) : c[j];
        break;
      case Activation::kElu:
        for (int64_t j = 0; j < cols; ++j) c[j] = c[j] < C(0) ? std::exp(c[j]) - C(1) : c[j];
        break;
      case Activation::kLeakyRelu:
        for (int64_t j = 0; j < cols; ++j) c[j] = c[j] > C(0) ? c[j] : c[j] * static_cast<C>(ops_.leaky_alpha);
        break;
      case Activation::kPrelu:
        for (int64_t j = 0; j < cols; ++j) c[j] = c[j] < C(0) ? c[j] * alpha_[static_cast<size_t>(first + j)] : c[j];
        break;
      case Activation::kSigmoid:
        for (int64_t j = 0; j < cols; ++j) c[j] = C(1) / (C(1) + std::exp(-c[j]));
        break;
      case Activation::kTanh:
        for (int64_t j = 0; j < cols; ++j) c[j] = std::tanh(c[j]);
        break;
    }
  }
}

}  // namespace emplace
