// FusedBatchNormGrad, V2, V3: gradients of batch normalisation for the image, scale and offset.
#include <cmath>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/batch_norm.h"
#include "core/ops/element.h"

namespace emplace {
namespace {

Status batch_norm_grad_shape(ShapeContext& c) {
  NormFormat format = NormFormat::of(c.attrs());
  ASSIGN_OR_RETURN(Shape image, c.with_rank(0, format.rank));
  ASSIGN_OR_RETURN(Shape x, c.with_rank(1, format.rank));
  int64_t& channels = image.dim(format.channels);
  ASSIGN_OR_RETURN(channels, ShapeContext::merge_dim(channels, x.dim(format.channels)));
  ASSIGN_OR_RETURN(channels, merge_channels(c, channels, 2, 5));
  c.set_output(0, image);
  for (int i : {1, 2}) c.set_output(i, Shape{channels});
  for (int i : {3, 4}) c.set_output(i, Shape{0});
  return ok_status();
}

// With u = (x - mean) / sqrt(variance + epsilon):
//   d_offset = sum(dy), d_scale = sum(dy u)
//   training:  dx = scale / sqrt(variance + epsilon) (dy - mean(dy) - u mean(dy u))
//   inference: dx = scale / sqrt(variance + epsilon) dy
template <class T>
class BatchNormGrad final : public Kernel {
 public:
  explicit BatchNormGrad(const KernelInit& init)
      : format_(NormFormat::of(init.attrs)),
        training_(init.attrs.flag("is_training")),
        epsilon_(static_cast<double>(init.attrs.number("epsilon"))) {}

  Status run(KernelContext& c) override {
    const Tensor &dy = c.input(0), &x = c.input(1);
    if (x.shape().rank() != format_.rank || !(dy.shape() == x.shape())) {
      return invalid_argument(cat("x and y_backprop must have same shape, but x has shape ", x.shape().to_string(),
                                  " and y_backprop has shape ", dy.shape().to_string()));
    }
    NormLayout l = format_.layout(x);
    RETURN_IF_ERROR(check_channel_vectors(c, l.channels, 2, 5));
    RETURN_IF_ERROR(ensure_output(c, 0, x.shape()));
    for (int i : {1, 2}) RETURN_IF_ERROR(ensure_output(c, i, Shape{l.channels}));
    for (int i : {3, 4}) RETURN_IF_ERROR(ensure_output(c, i, Shape{0}));
    c.parallel_for(l.channels, 4.0 * static_cast<double>(l.count()),
                   [&](int64_t begin, int64_t end) { channels(c, l, begin, end); });
    return ok_status();
  }

 private:
  void channels(KernelContext& c, const NormLayout& l, int64_t begin, int64_t end) const {
    auto wide = [](T v) { return static_cast<double>(static_cast<float>(v)); };
    const T *dy = c.in<T>(0), *x = c.in<T>(1);
    const float *scale = c.in<float>(2), *mean = c.in<float>(3), *variance = c.in<float>(4);
    auto count = static_cast<size_t>(end - begin);
    ScratchVector<double> sum(count), sum_u(count), inverse(count);
    for (size_t k = 0; k < count; ++k) {
      inverse[k] = 1 / std::sqrt(static_cast<double>(variance[begin + static_cast<int64_t>(k)]) + epsilon_);
    }
    auto each = [&](const auto& f) {
      for (int64_t r = 0; r < l.outer; ++r) {
        for (int64_t k = begin; k < end; ++k) {
          int64_t at = (r * l.channels + k) * l.inner;
          for (int64_t i = at; i < at + l.inner; ++i) f(static_cast<size_t>(k - begin), k, i);
        }
      }
    };
    each([&](size_t k, int64_t channel, int64_t i) {
      sum[k] += wide(dy[i]);
      sum_u[k] += wide(dy[i]) * (wide(x[i]) - static_cast<double>(mean[channel])) * inverse[k];
    });
    for (size_t k = 0; k < count; ++k) {
      c.out<float>(1)[begin + static_cast<int64_t>(k)] = static_cast<float>(sum_u[k]);
      c.out<float>(2)[begin + static_cast<int64_t>(k)] = static_cast<float>(sum[k]);
    }
    double n = training_ ? static_cast<double>(l.count()) : 0;
    each([&](size_t k, int64_t channel, int64_t i) {
      double u = (wide(x[i]) - static_cast<double>(mean[channel])) * inverse[k];
      double centred = n > 0 ? wide(dy[i]) - sum[k] / n - u * sum_u[k] / n : wide(dy[i]);
      c.out<T>(0)[i] = T(static_cast<float>(static_cast<double>(scale[channel]) * inverse[k] * centred));
    });
  }

  NormFormat format_;
  bool training_;
  double epsilon_;
};

OpDef batch_norm_grad(std::string_view name) {
  return OpDef(name)
      .doc("Gradients of batch normalisation for the image, scale and offset.")
      .shape(batch_norm_grad_shape)
      .cpu<float>(make<BatchNormGrad<float>>)
      .cpu<half>(make<BatchNormGrad<half>>)
      .cpu<bfloat16>(make<BatchNormGrad<bfloat16>>);
}

}  // namespace

OpDef fused_batch_norm_grad_op() { return batch_norm_grad("FusedBatchNormGrad"); }
OpDef fused_batch_norm_grad_v2_op() { return batch_norm_grad("FusedBatchNormGradV2"); }
OpDef fused_batch_norm_grad_v3_op() { return batch_norm_grad("FusedBatchNormGradV3"); }

}  // namespace emplace
