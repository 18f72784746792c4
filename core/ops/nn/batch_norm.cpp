// FusedBatchNorm, V2, V3: images normalised channel by channel.
#include "core/ops/nn/batch_norm.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

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
  return ok_status();
}

struct Statistics {
  ScratchVector<double> mean, variance;  // variance: with n
};

// In double, in two passes: the mean, then the squares around it.
template <class T>
Statistics statistics(KernelContext& c, const T* x, const NormLayout& l) {
  Statistics s{ScratchVector<double>(static_cast<size_t>(l.channels)),
               ScratchVector<double>(static_cast<size_t>(l.channels))};
  auto n = static_cast<double>(l.count());
  c.parallel_for(l.channels, 2.0 * n, [&](int64_t begin, int64_t end) {
    auto sum = [&](ScratchVector<double>& into, const auto& term) {
      for (int64_t r = 0; r < l.outer; ++r) {
        const T* from = x + (r * l.channels + begin) * l.inner;
        for (int64_t k = begin; k < end; ++k) {
          double total = 0;
          for (int64_t i = 0; i < l.inner; ++i) total += term(k, static_cast<double>(static_cast<float>(*from++)));
          into[static_cast<size_t>(k)] += total;
        }
      }
      for (int64_t k = begin; k < end; ++k) into[static_cast<size_t>(k)] /= n;
    };
    sum(s.mean, [](int64_t, double v) { return v; });
    sum(s.variance, [&](int64_t k, double v) {
      double d = v - s.mean[static_cast<size_t>(k)];
      return d * d;
    });
  });
  return s;
}

template <class T>
class BatchNorm final : public Kernel {
 public:
  explicit BatchNorm(const KernelInit& init)
      : format_(NormFormat::of(init.attrs)),
        training_(init.attrs.flag("is_training")),
        epsilon_(init.attrs.number("epsilon")),
        factor_(init.attrs.number("exponential_avg_factor")) {}

  Status run(KernelContext& c) override {
    const Tensor& x = c.input(0);
    if (x.shape().rank() != format_.rank) {
      return invalid_argument(cat("input must be 4 or 5-dimensional", x.shape().to_string()));
    }
    NormLayout l = format_.layout(x);
    bool own_statistics = training_ && factor_ == 1.0f;
    RETURN_IF_ERROR(check_channel_vectors(c, l.channels, 1, own_statistics ? 3 : 5));
    RETURN_IF_ERROR(ensure_output(c, 0, x.shape()));
    for (int i = 1; i <= 4; ++i) RETURN_IF_ERROR(ensure_output(c, i, Shape{l.channels}));
    if (c.num_outputs() > 5) {  // a reserve that only GPUs fill
      RETURN_IF_ERROR(ensure_output(c, 5, Shape{}));
      *c.out<float>(5) = 0;
    }
    if (l.count() == 0) {
      for (int i = 1; i <= 4; ++i)
        std::fill_n(c.out<float>(i), l.channels, i <= 2 ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
      return ok_status();
    }
    if (training_) {
      train(c, l);
    } else {
      for (int i = 1; i <= 4; ++i)
        copy_elements(DType::kFloat, c.in<float>(i % 2 ? 3 : 4), c.out<float>(i), l.channels);
    }
    normalise(c, l, training_ ? c.out<float>(3) : c.in<float>(3), training_ ? c.out<float>(4) : c.in<float>(4));
    return ok_status();
  }

 private:
  // Outputs 1 and 2 are for the moving averages (variance with n - 1), 3 and 4 for the gradient (with n).
  void train(KernelContext& c, const NormLayout& l) {
    Statistics s = statistics(c, c.in<T>(0), l);
    auto n = static_cast<double>(l.count());
    for (int64_t k = 0; k < l.channels; ++k) {
      double mean = s.mean[static_cast<size_t>(k)], variance = s.variance[static_cast<size_t>(k)];
      c.out<float>(3)[k] = static_cast<float>(mean);
      c.out<float>(4)[k] = static_cast<float>(variance);
      c.out<float>(1)[k] = mixed(c, 3, k, static_cast<float>(mean));
      c.out<float>(2)[k] = mixed(c, 4, k, static_cast<float>(variance * n / std::max(n - 1, 1.0)));
    }
  }

  float mixed(KernelContext& c, int old, int64_t k, float fresh) const {
    return factor_ == 1.0f ? fresh : (1 - factor_) * c.in<float>(old)[k] + factor_ * fresh;
  }

  void normalise(KernelContext& c, const NormLayout& l, const float* mean, const float* variance) {
    ScratchVector<float> slope(static_cast<size_t>(l.channels));
    for (int64_t k = 0; k < l.channels; ++k)
      slope[static_cast<size_t>(k)] = c.in<float>(1)[k] / std::sqrt(variance[k] + epsilon_);
    const float* offset = c.in<float>(2);
    const T* in = c.in<T>(0);
    T* out = c.out<T>(0);
    c.parallel_for(l.outer, 0.5 * static_cast<double>(l.channels * l.inner), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        for (int64_t k = 0; k < l.channels; ++k) {
          float a = slope[static_cast<size_t>(k)];
          int64_t at = (r * l.channels + k) * l.inner;
          for (int64_t i = at; i < at + l.inner; ++i) out[i] = T((static_cast<float>(in[i]) - mean[k]) * a + offset[k]);
        }
      }
    });
  }

  NormFormat format_;
  bool training_;
  float epsilon_, factor_;
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
