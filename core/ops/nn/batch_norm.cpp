// FusedBatchNorm, V2, V3: images normalised channel by channel.
#include "core/ops/nn/batch_norm.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/factored_kernel.h"
#include "core/op/gradient_context.h"
#include "core/op/of_run.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/step_chain.h"
#include "core/ops/nn/norm_elements.h"
#include "core/ops/nn/norm_sums.h"

namespace emplace {
namespace {

Status batch_norm_shape(ShapeContext& c) {
  NormFormat format = NormFormat::of(c.attrs());
  ASSIGN_OR_RETURN(Shape image, c.with_rank(0, format.rank));
  bool own_statistics = c.attrs().flag("is_training") && c.attrs().number("exponential_avg_factor") == 1.0f;
  int64_t& channels = image.dim(format.channels);
  ASSIGN_OR_RETURN(channels, merge_channels(c, channels, 1, own_statistics ? 3 : 5));
  for (int i : {3, 4}) RETURN_IF_ERROR(c.with_rank(i, 1).take_status());
  for (int i = 1; i <= 4; ++i) c.set_output(i, Shape{channels});
  c.set_output(0, image);
  // V3's reserve, of which TensorFlow says nothing: cuDNN may want one of any size. Here it is always a scalar.
  if (c.num_outputs() > 5 && is_of_run(c)) c.set_output(5, Shape{});
  return ok_status();
}

// Of a channel: the mean, and the variance with n, from sums around its first pixel. A pixel is at most n standard
// deviations' squares from the mean, so that the difference of the sums loses less than n times the rounding of double.
struct Moments {
  double mean, variance;
  Moments(double shift, double sum, double squares, double n)
      : mean(shift + sum / n), variance((squares - sum * sum / n) / n) {
    if (variance < 0) variance = 0;
  }
};

template <class T>
class BatchNorm final : public FactoredKernel {
 public:
  explicit BatchNorm(const KernelInit& init)
      : format_(NormFormat::of(init.attrs)),
        training_(init.attrs.flag("is_training")),
        epsilon_(init.attrs.number("epsilon")),
        factor_(init.attrs.number("exponential_avg_factor")) {}

  Status prepare(KernelContext& c) override {
    innermost_ = fits_ = false;
    const Shape& x = c.input(0).shape();
    if (x.rank() != format_.rank || c.input(0).num_elements() == 0) return ok_status();
    layout_ = format_.layout(c.input(0));
    innermost_ = layout_.inner == 1;
    fits_ = check_channel_vectors(c, layout_.channels, 1, own_statistics() ? 3 : 5).ok();
    mean_slope_offset_.resize(static_cast<size_t>(3 * layout_.channels));
    return ok_status();
  }

  Tile tile() const override {
    if (!innermost_ || !fits_) return {};
    return {.function = code_, .params = &layout_.channels, .cost_ns = 0.2, .period = layout_.channels};
  }
  ElementStep step() const override {
    return std::is_same_v<T, float> && tile().function ? ElementStep::kNormalise : ElementStep::kNone;
  }
  Tile::Function chain_code() const override { return step_chain_code(); }
  bool hands_on_rows() const override { return training_ && innermost_ && fits_; }
  Factors factors() const override {
    const float* all = mean_slope_offset_.data();
    return {all, all + layout_.channels, all + 2 * layout_.channels};
  }

  Status begin_tiles(KernelContext& c) override {
    if (training_) {
      train(c);
      return ok_status();
    }
    if (c.num_outputs() > 5) *c.out<float>(5) = 0;  // a reserve that only GPUs fill
    for (int i = 1; i <= 4; ++i)
      copy_elements(DType::kFloat, c.in<float>(i % 2 ? 3 : 4), c.out<float>(i), layout_.channels);
    write_factors(c, c.in<float>(3), c.in<float>(4));
    return ok_status();
  }

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (x.shape().rank() != format_.rank) {
      return invalid_argument(cat("input must be 4 or 5-dimensional", x.shape().to_string()));
    }
    layout_ = format_.layout(x);
    const int64_t channels = layout_.channels;
    RETURN_IF_ERROR(check_channel_vectors(c, channels, 1, own_statistics() ? 3 : 5));
    RETURN_IF_ERROR(ensure_output(c, 0, x.shape()));
    for (int i = 1; i <= 4; ++i) RETURN_IF_ERROR(ensure_output(c, i, Shape{channels}));
    if (c.num_outputs() > 5) RETURN_IF_ERROR(ensure_output(c, 5, Shape{}));
    mean_slope_offset_.resize(static_cast<size_t>(3 * channels));
    if (layout_.count() == 0) {
      if (c.num_outputs() > 5) *c.out<float>(5) = 0;
      for (int i = 1; i <= 4; ++i)
        std::fill_n(c.out<float>(i), channels, i <= 2 ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
      return ok_status();
    }
    RETURN_IF_ERROR(begin_tiles(c));
    normalise(*c.parallel_, code_, layout_, c.in<T>(0), factors(), c.out<T>(0), c.row_sink_);
    return ok_status();
  }

 private:
  bool own_statistics() const { return training_ && factor_ == 1.0f; }

  // Outputs 1 and 2 are for the moving averages (variance with n - 1), 3 and 4 for the gradient (with n).
  void train(KernelContext& c) {
    if (c.num_outputs() > 5) *c.out<float>(5) = 0;
    const auto channels = static_cast<size_t>(layout_.channels);
    ScratchVector<double> shift(channels), sum(channels), squares(channels);
    for (size_t k = 0; k < channels; ++k) {
      const auto first = static_cast<double>(static_cast<float>(c.in<T>(0)[k * static_cast<size_t>(layout_.inner)]));
      shift[k] = std::isfinite(first) ? first : 0;
    }
    sum_moments(*c.parallel_, sums_, layout_, c.in<T>(0), shift.data(), sum.data(), squares.data());
    const auto n = static_cast<double>(layout_.count());
    for (size_t k = 0; k < channels; ++k) {
      const Moments m(shift[k], sum[k], squares[k], n);
      c.out<float>(3)[k] = static_cast<float>(m.mean);
      c.out<float>(4)[k] = static_cast<float>(m.variance);
      c.out<float>(1)[k] = mixed(c, 3, k, static_cast<float>(m.mean));
      c.out<float>(2)[k] = mixed(c, 4, k, static_cast<float>(m.variance * n / std::max(n - 1, 1.0)));
    }
    write_factors(c, c.out<float>(3), c.out<float>(4));
  }

  float mixed(KernelContext& c, int old, size_t k, float fresh) const {
    return factor_ == 1.0f ? fresh : (1 - factor_) * c.in<float>(old)[k] + factor_ * fresh;
  }

  void write_factors(KernelContext& c, const float* mean, const float* variance) {
    const auto channels = static_cast<size_t>(layout_.channels);
    float* to = mean_slope_offset_.data();
    for (size_t k = 0; k < channels; ++k) {
      to[k] = mean[k];
      to[channels + k] = c.in<float>(1)[k] / std::sqrt(variance[k] + epsilon_);
      to[2 * channels + k] = c.in<float>(2)[k];
    }
  }

  // Constant after construction.
  NormFormat format_;
  bool training_;
  float epsilon_, factor_;
  const NormSumCode sums_ = NormSumCode::of_processor();
  const Tile::Function code_ = normalise_code<T>();
  // Of the input's shape.
  NormLayout layout_;
  bool innermost_ = false, fits_ = false;  // channels are the last dimension; their vectors have the right size
  std::vector<float> mean_slope_offset_;   // of this step
};

// The gradient enters through y alone. Outputs 3 and 4 hold the batch's moments; without training the moments are
// inputs, constants here, and the backward op wants channels last.
Status batch_norm_gradient(GradientContext& g) {
  const bool training = g.attrs().flag("is_training");
  const bool turn = !training && g.attrs().text("data_format") == "NCHW";
  auto turned = [&](Value v, const std::vector<int64_t>& order) {
    return turn ? g.transpose(v, g.ints(order, "transpose/perm")) : v;
  };
  Value dy = turned(g.grad(0), {0, 2, 3, 1}), x = turned(g.input(0), {0, 2, 3, 1});
  std::vector<Value> inputs{dy, x, g.input(1), training ? g.output(3) : g.input(3),
                            training ? g.output(4) : g.input(4)};
  const bool v3 = g.op() == "FusedBatchNormV3";
  if (v3) inputs.push_back(g.output(5));
  auto attrs = g.copy_attrs({"epsilon", "is_training"});
  attrs.emplace_back("data_format", AttrValue::of(turn ? std::string("NHWC") : g.attrs().text("data_format")));
  Value dx = g.add(v3                             ? "FusedBatchNormGradV3"
                   : g.op() == "FusedBatchNormV2" ? "FusedBatchNormGradV2"
                                                  : "FusedBatchNormGrad",
                   inputs, std::move(attrs));
  g.set(0, turned(dx, {0, 3, 1, 2}));
  g.set(1, dx.output(1));
  g.set(2, dx.output(2));
  return g.status();
}

OpDef batch_norm(std::string_view name) {
  return OpDef(name)
      .doc(
          "Each channel shifted and scaled to mean 0 and variance 1 (of the batch, or as given), then by offset and "
          "scale.")
      .shape(batch_norm_shape)
      .may_overwrite_input()
      .gradient(batch_norm_gradient)
      .cpu<float>(make<BatchNorm<float>>)
      .cpu<half>(make<BatchNorm<half>>)
      .cpu<bfloat16>(make<BatchNorm<bfloat16>>);
}

}  // namespace

OpDef fused_batch_norm_op() { return batch_norm("FusedBatchNorm"); }
OpDef fused_batch_norm_v2_op() { return batch_norm("FusedBatchNormV2"); }
OpDef fused_batch_norm_v3_op() { return batch_norm("FusedBatchNormV3"); }

}  // namespace emplace
