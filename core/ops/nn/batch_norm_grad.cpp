// FusedBatchNormGrad, V2, V3: gradients of batch normalisation for the image, scale and offset.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/nn/batch_norm.h"
#include "core/ops/nn/norm_elements.h"
#include "core/ops/nn/norm_sums.h"

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
    if (l.count() > 0)
      gradients(c, l);
    else
      for (int i : {1, 2}) std::fill_n(c.out<float>(i), l.channels, 0.0f);
    return ok_status();
  }

 private:
  void gradients(KernelContext& c, const NormLayout& l) const {
    const auto channels = static_cast<size_t>(l.channels);
    const T *dy = c.in<T>(0), *x = c.in<T>(1);
    const float *scale = c.in<float>(2), *variance = c.in<float>(4);
    ScratchVector<double> mean(c.in<float>(3), c.in<float>(3) + channels), sum(channels), sum_u(channels),
        slope(channels), level(channels), tilt(channels);
    sum_gradients(*c.parallel_, sums_, l, dy, x, mean.data(), sum.data(), sum_u.data());
    const auto n = static_cast<double>(l.count());
    for (size_t k = 0; k < channels; ++k) {
      const double inverse = 1 / std::sqrt(static_cast<double>(variance[k]) + epsilon_);
      sum_u[k] *= inverse;
      c.out<float>(1)[k] = static_cast<float>(sum_u[k]);
      c.out<float>(2)[k] = static_cast<float>(sum[k]);
      slope[k] = static_cast<double>(scale[k]) * inverse;
      level[k] = training_ ? sum[k] / n : 0;
      tilt[k] = training_ ? inverse * sum_u[k] / n : 0;
    }
    norm_input_gradient(*c.parallel_, elements_, l, dy, x, {slope.data(), level.data(), mean.data(), tilt.data()},
                        c.out<T>(0));
  }

  NormFormat format_;
  bool training_;
  double epsilon_;
  const NormSumCode sums_ = NormSumCode::of_processor();
  const NormInputGradient::Code elements_ = NormInputGradient::of_processor();
};

// The backward op once more, in ops that have gradients of their own (nn_fused_batch_norm_grad.py). Of half types all
// but the image's gradient is float.
class BackwardInOps {
 public:
  explicit BackwardInOps(GradientContext& g)
      : g_(g),
        format_(NormFormat::of(g.attrs())),
        channels_last_(format_.channels + 1 == format_.rank),
        epsilon_(g.attrs().number("epsilon")) {
    for (int i = 0; i < format_.rank; ++i) {
      if (i != format_.channels) axes_.push_back(i);
    }
  }

  /// Gradients for image, scale and offset.
  std::vector<Value> build() {
    const DType type = g_.type(g_.input(1));
    const bool narrow = type != DType::kFloat;
    Value x = narrow ? g_.cast(g_.input(1), DType::kFloat) : g_.input(1);
    Value dy = narrow ? g_.cast(g_.input(0), DType::kFloat) : g_.input(0);
    std::vector<Value> out = g_.attrs().flag("is_training") ? training(dy, x) : inference(dy, x);
    if (narrow) out[0] = g_.cast(out[0], type);
    return out;
  }

 private:
  std::vector<Value> training(Value dy, Value x) {
    Value scale = g_.input(2);
    if (!channels_last_) scale = along_channels(scale, g_.size_of(scale));
    Value mean_dy = mean(dy), mean_x = mean(x);
    Value variance = mean(g_.add("SquaredDifference", {x, g_.add("StopGradient", {mean_x})}));
    Value dy_offset = sub(dy, mean_dy), x_offset = sub(x, mean_x);
    Value product = mean(g_.mul(dy, x_offset));
    Value slope = g_.mul(scale, g_.add("Rsqrt", {plus_epsilon(variance)}));
    Value share = g_.mul(g_.add("Reciprocal", {plus_epsilon(variance)}), product);
    Value dx = g_.mul(slope, sub(dy_offset, g_.mul(share, x_offset)));
    Value inverse = g_.add("Rsqrt", {plus_epsilon(variance)});
    Value dscale = g_.mul(inverse, sum(g_.mul(dy, x_offset), !channels_last_));
    if (!channels_last_) dscale = g_.add("Squeeze", {dscale});
    return {dx, dscale, sum(dy, false)};
  }

  // The moments are constants.
  std::vector<Value> inference(Value dy, Value x) {
    Value scale = g_.input(2), given_mean = g_.input(3), variance = g_.input(4);
    if (!channels_last_) {
      Value channels = g_.size_of(given_mean);
      given_mean = along_channels(given_mean, channels);
      variance = along_channels(variance, channels);
      scale = along_channels(scale, channels);
    }
    Value doffset = sum(dy, false);
    Value inverse = g_.add("Rsqrt", {plus_epsilon(variance)});
    Value dscale = sum(g_.mul(g_.mul(dy, sub(x, given_mean)), inverse), false);
    return {g_.mul(g_.mul(dy, scale), inverse), dscale, doffset};
  }

  Value sub(Value a, Value b) { return g_.add("Sub", {a, b}, {}, "sub"); }
  Value plus_epsilon(Value v) {
    return g_.add("AddV2", {v, g_.scalar(DType::kFloat, static_cast<double>(epsilon_), "add/y")}, {}, "add");
  }
  Value mean(Value v) {
    return g_.add("Mean", {v, g_.ints(axes_, "Mean/reduction_indices")},
                  {{"keep_dims", AttrValue::of(!channels_last_)}});
  }
  Value sum(Value v, bool keep_dims) { return g_.sum(v, g_.ints(axes_, "Sum/reduction_indices"), keep_dims); }
  // A vector as [1, n, 1, ...].
  Value along_channels(Value v, Value channels) {
    std::vector<Value> dims;
    dims.reserve(static_cast<size_t>(format_.rank));
    for (int i = 0; i < format_.rank; ++i)
      dims.push_back(i == format_.channels ? channels : g_.index(1, cat("Reshape/shape/", i)));
    return g_.reshape(v, g_.add("Pack", dims, {{"axis", AttrValue::of(int64_t{0})}}, "Reshape/shape"));
  }

  GradientContext& g_;
  NormFormat format_;
  bool channels_last_;
  float epsilon_;
  std::vector<int64_t> axes_;
};

Status batch_norm_grad_gradient(GradientContext& g) {
  const std::vector<Value> backward = BackwardInOps(g).build();
  ASSIGN_OR_RETURN(auto gradients,
                   g.tape_gradient(backward, {g.input(0), g.input(1), g.input(2)}, {g.grad(0), g.grad(1), g.grad(2)}));
  for (int i = 0; i < 3; ++i) g.set(i, gradients[static_cast<size_t>(i)]);
  return g.status();
}

OpDef batch_norm_grad(std::string_view name) {
  return OpDef(name)
      .doc("Gradients of batch normalisation for the image, scale and offset.")
      .shape(batch_norm_grad_shape)
      .gradient(batch_norm_grad_gradient)
      .cpu<float>(make<BatchNormGrad<float>>)
      .cpu<half>(make<BatchNormGrad<half>>)
      .cpu<bfloat16>(make<BatchNormGrad<bfloat16>>);
}

}  // namespace

OpDef fused_batch_norm_grad_op() { return batch_norm_grad("FusedBatchNormGrad"); }
OpDef fused_batch_norm_grad_v2_op() { return batch_norm_grad("FusedBatchNormGradV2"); }
OpDef fused_batch_norm_grad_v3_op() { return batch_norm_grad("FusedBatchNormGradV3"); }

}  // namespace emplace
