// StatelessRandomGammaV2 and V3, RandomGamma, StatelessRandomPoisson, RandomPoissonV2, StatelessRandomBinomial,
// StatefulRandomBinomial: numbers that are drawn by trying, with TensorFlow's algorithms and from its streams, so that
// they are its numbers. A sample has 256 blocks of the stream to itself (few trials of a binomial distribution: 42).
#include <algorithm>
#include <cmath>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"
#include "core/ops/random/rng_state.h"

namespace emplace {
namespace {

constexpr uint64_t kBlocksPerSample = 256, kBlocksOfFew = 42;
constexpr double kSampleNs = 150;

/// Numbers of a stream as they are taken there: those of a block, which Group makes, from the last to the first.
template <auto Group>
class Samples {
 public:
  Samples(const PhiloxStream& stream, uint64_t& block) : stream_(stream), block_(block) {}
  double next() {
    if (left_ == 0) {
      Group(stream_, block_++, values_);
      left_ = 2;
    }
    return values_[--left_];
  }

 private:
  const PhiloxStream& stream_;
  uint64_t& block_;
  double values_[2]{};
  int left_ = 0;
};
using UniformSamples = Samples<uniform_group<double>>;
using NormalSamples = Samples<normal_group<double>>;

// Marsaglia and Tsang: a normal number, transformed, rejected where the density is lower than the bound.
double gamma_sample(double alpha, const PhiloxStream& stream, uint64_t block) {
  UniformSamples uniform(stream, block);
  if (alpha == 1) return -std::log1p(-uniform.next());
  NormalSamples normal(stream, block);
  const bool small = alpha < 1;
  const double d = alpha + (small ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / std::sqrt(d);
  if (!(d > 0) || std::isinf(d)) return std::nan("");
  while (true) {
    const double x = normal.next();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = uniform.next();
    if (!(u < 1 - 0.0331 * (x * x) * (x * x)) && !(std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v)))) continue;
    const double sample = d * v;
    return small ? sample * std::pow(uniform.next(), 1 / alpha) : sample;
  }
}

double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

// Below a rate of 10 Knuth's product of uniform numbers, above it Hörmann's transformed rejection.
double poisson_sample(double rate, const PhiloxStream& stream, uint64_t block) {
  UniformSamples uniform(stream, block);
  if (!(rate >= 0)) return std::nan("");
  if (std::isinf(rate)) return rate;
  if (rate < 10) {
    const double enough = std::exp(-rate);
    double product = 1, count = 0;
    while (true) {
      product *= uniform.next();
      if (product <= enough) return count;
      count += 1;
    }
  }
  const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  while (true) {
    const double u = uniform.next() - 0.5, v = uniform.next(), shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    const double s = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    if (s <= -rate + k * log_rate - log_gamma(k + 1)) return k;
  }
}

// Geometric numbers until their sum exceeds the count.
double few_successes(double count, double probability, const PhiloxStream& stream, uint64_t block) {
  UniformSamples uniform(stream, block);
  double sum = 0, successes = 0;
  while (true) {
    sum += std::ceil(std::log(uniform.next()) / std::log1p(-probability));
    if (!(sum <= count)) return successes;
    successes += 1;
  }
}

double stirling_tail(double k) {
  static constexpr double kTails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
                                      0.0166446911898211,  0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
                                      0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kTails[static_cast<size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Hörmann's transformed rejection.
double many_successes(double count, double probability, const PhiloxStream& stream, uint64_t block) {
  UniformSamples uniform(stream, block);
  const double spread = std::sqrt(count * probability * (1 - probability));
  const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * probability, c = count * probability + 0.5;
  const double inside = 0.92 - 4.2 / b, odds = probability / (1 - probability), alpha = (2.83 + 5.1 / b) * spread;
  const double m = std::floor((count + 1) * probability);
  while (true) {
    double u = uniform.next(), v = uniform.next();
    u -= 0.5;
    const double shifted = 0.5 - std::abs(u), k = std::floor((2 * a / shifted + b) * u + c);
    if (shifted >= 0.07 && v <= inside) return k;
    if (!(k >= 0 && k <= count)) continue;
    v = std::log(v * alpha / (a / (shifted * shifted) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (odds * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                         stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k);
    if (v <= bound) return k;
  }
}

/// A number of type `t`, as that type rounds it.
double as_type(DType t, double x) {
  if (t == DType::kHalf) return static_cast<double>(static_cast<float>(half(static_cast<float>(x))));
  if (t == DType::kFloat) return static_cast<double>(static_cast<float>(x));
  return x;
}

double binomial_sample(DType t, double count, double p, const PhiloxStream& stream, uint64_t sample) {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (p != p || count != count || std::isinf(count)) return std::nan("");
  const bool many = p > 0.5;
  const double rarer = many ? as_type(t, 1 - p) : p;
  const double found = as_type(t, count * rarer) >= 10 ? many_successes(count, rarer, stream, kBlocksPerSample * sample)
                                                       : few_successes(count, rarer, stream, kBlocksOfFew * sample);
  return many ? count - found : found;
}

double double_at(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kHalf:
      return static_cast<double>(static_cast<float>(t.data<half>()[i]));
    case DType::kBFloat16:
      return static_cast<double>(static_cast<float>(t.data<bfloat16>()[i]));
    case DType::kFloat:
      return static_cast<double>(t.data<float>()[i]);
    case DType::kDouble:
      return t.data<double>()[i];
    default:
      return static_cast<double>(int_at(t, i));
  }
}

void store_sample(Tensor& t, int64_t i, double x) {
  switch (t.dtype()) {
    case DType::kHalf:
      t.data<half>()[i] = half(static_cast<float>(x));
      return;
    case DType::kBFloat16:
      t.data<bfloat16>()[i] = bfloat16(static_cast<float>(x));
      return;
    case DType::kFloat:
      t.data<float>()[i] = static_cast<float>(x);
      return;
    case DType::kDouble:
      t.data<double>()[i] = x;
      return;
    case DType::kInt32:
      t.data<int32_t>()[i] = x == x ? static_cast<int32_t>(std::clamp(x, -0x1p31, 0x1.fffffffcp30)) : INT32_MIN;
      return;
    default:
      t.data<int64_t>()[i] = x == x ? static_cast<int64_t>(std::clamp(x, -0x1p63, 0x1.fffffffffffffp62)) : INT64_MIN;
  }
}

/// Sample `s` of parameter `p` of `parameters` is element s * parameters + p, and number p * samples + s of the
/// stream's.
template <class F>
void fill_samples(KernelContext& c, int64_t parameters, const F& sample) {
  const int64_t total = c.output(0).num_elements(), samples = total / parameters;
  c.parallel_for(total, kSampleNs, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t parameter = i / samples;
      store_sample(c.output(0), i % samples * parameters + parameter, sample(parameter, static_cast<uint64_t>(i)));
    }
  });
}

Status ends_with(const Shape& shape, const Shape& end) {
  bool does = shape.rank() >= end.rank();
  for (int i = 1; does && i <= end.rank(); ++i) does = shape.dim_from_end(i) == end.dim_from_end(i);
  return does ? ok_status() : invalid_argument("Shape passed in must end with broadcasted shape.");
}

enum class Counted { kGamma, kPoisson };

void fill_counted(KernelContext& c, Counted kind, const Tensor& parameters, const PhiloxStream& stream) {
  fill_samples(c, parameters.num_elements(), [&](int64_t p, uint64_t i) {
    const double value = double_at(parameters, p);
    const uint64_t block = kBlocksPerSample * i;
    return kind == Counted::kGamma ? gamma_sample(value, stream, block) : poisson_sample(value, stream, block);
  });
}

/// Of a given stream; the parameters are the last input.
template <Counted kKind, bool kCounter>
Status counted_of_stream(KernelContext& c) {
  const Tensor& parameters = c.input(c.num_inputs() - 1);
  ASSIGN_OR_RETURN(const Shape shape, shape_of_values(c.input(0)));
  ASSIGN_OR_RETURN(const PhiloxStream stream,
                   kCounter ? philox_from_counter(c.input(1), c.input(2), c.input(3)) : philox_from_seed(c.input(1)));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  if (shape.num_elements() == 0) return ok_status();
  RETURN_IF_ERROR(ends_with(shape, parameters.shape()));
  fill_counted(c, kKind, parameters, stream);
  return ok_status();
}

/// Numbers for the last two inputs, which are broadcast to the end of the output.
void fill_binomial(KernelContext& c, const Shape& both, const PhiloxStream& stream) {
  const Tensor &counts = c.input(c.num_inputs() - 2), &chances = c.input(c.num_inputs() - 1);
  auto element_of = [&](const Tensor& t, int64_t i) {  // where element i of the broadcast lies in t
    int64_t at = 0, step = 1;
    for (int axis = 1; axis <= both.rank(); ++axis) {
      const int64_t place = i % both.dim_from_end(axis);
      i /= both.dim_from_end(axis);
      if (axis > t.shape().rank()) continue;
      at += t.shape().dim_from_end(axis) == 1 ? 0 : place * step;
      step *= t.shape().dim_from_end(axis);
    }
    return double_at(t, at);
  };
  fill_samples(c, both.num_elements(), [&](int64_t p, uint64_t i) {
    return binomial_sample(counts.dtype(), element_of(counts, p), element_of(chances, p), stream, i);
  });
}

/// Gives the output the shape that input `sizes` holds; the shape of the parameters together.
Result<Shape> begin_binomial(KernelContext& c, int sizes) {
  ASSIGN_OR_RETURN(const Shape shape, shape_of_values(c.input(sizes)));
  ASSIGN_OR_RETURN(Shape both,
                   broadcast_shapes(c.input(c.num_inputs() - 2).shape(), c.input(c.num_inputs() - 1).shape()));
  RETURN_IF_ERROR(ends_with(shape, both));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  return both;
}

Status binomial_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const PhiloxStream stream, philox_from_seed(c.input(1)));
  ASSIGN_OR_RETURN(const Shape both, begin_binomial(c, 0));
  if (c.output(0).num_elements() > 0) fill_binomial(c, both, stream);
  return ok_status();
}

Status stateful_binomial_cpu(KernelContext& c) {
  constexpr uint64_t kMostTrials = 2 * 100;
  ASSIGN_OR_RETURN(const Shape both, begin_binomial(c, 2));
  const auto parameters = static_cast<uint64_t>(both.num_elements());
  if (parameters == 0) return ok_status();
  const uint64_t samples = static_cast<uint64_t>(c.output(0).num_elements()) / parameters;
  ASSIGN_OR_RETURN(const PhiloxStream stream, take_rng_numbers(c, parameters * kMostTrials * (samples + 3) / 4));
  if (samples > 0) fill_binomial(c, both, stream);
  return ok_status();
}

/// As many samples as input 0 says for each parameter, from the node's own stream.
template <Counted kKind>
class CountedRandom final : public Kernel {
 public:
  explicit CountedRandom(const KernelInit& init) : state_(init) {}
  Status run(KernelContext& c) override {
    const Tensor& parameters = c.input(1);
    ASSIGN_OR_RETURN(const Shape samples, shape_of_values(c.input(0)));
    RETURN_IF_ERROR(ensure_output(c, 0, concat_shapes(samples, parameters.shape())));
    const auto total = static_cast<uint64_t>(c.output(0).num_elements());
    if (total == 0) return ok_status();
    fill_counted(c, kKind, parameters, state_.reserve(kBlocksPerSample * total));
    return ok_status();
  }

 private:
  RandomState state_;
};

Status given_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, std::move(out));
  return ok_status();
}

Status given_shape_of_variable(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 2));
  c.set_output(0, std::move(out));
  return ok_status();
}

Status each_parameter_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape samples, shape_from_input(c, 0));
  c.set_output(0, concat_shapes(samples, c.input(1)));
  return ok_status();
}

// How samples move with their alpha, which is the last input and has their last dimensions; TensorFlow's,
// python/ops/random_grad.py.
Status gamma_gradient(GradientContext& g) {
  const int last = g.num_inputs() - 1;
  const Value alpha = g.input(last), sample = g.output(0);
  g.wait_for(g.grad(0));
  Value slope = g.mul(g.grad(0), g.add("RandomGammaGrad", {alpha, sample}));
  const Value shape = g.shape_of(alpha);
  const Value axes = g.add("BroadcastGradientArgs", {shape, g.shape_of(sample)}).output(0);
  g.set(last, g.reshape(g.sum(slope, axes), shape));
  return g.status();
}

constexpr DTypeSet kCounts = DTypeSet{DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64};

OpDef counted(std::string_view name, std::string_view doc, ShapeRule shape) {
  return OpDef(name).doc(doc).shape(shape).kernel_attr("dtype").value_inputs({0});
}

}  // namespace

OpDef stateless_random_gamma_v2_op() {
  return counted("StatelessRandomGammaV2", "Numbers of gamma distributions that depend on the seed alone.", given_shape)
      .cpu(kFloating, stateless<counted_of_stream<Counted::kGamma, false>>)
      .gradient(gamma_gradient);
}
OpDef stateless_random_gamma_v3_op() {
  return counted("StatelessRandomGammaV3", "Numbers of gamma distributions, of a given stream.", given_shape)
      .cpu(kFloating, stateless<counted_of_stream<Counted::kGamma, true>>)
      .gradient(gamma_gradient);
}
OpDef random_gamma_op() {
  return OpDef("RandomGamma")
      .doc("Numbers of gamma distributions, as many as asked for of each.")
      .shape(each_parameter_shape)
      .kernel_attr("T")
      .value_inputs({0})
      .cpu(kFloating, make<CountedRandom<Counted::kGamma>>)
      .gradient(gamma_gradient);
}
OpDef stateless_random_poisson_op() {
  return counted("StatelessRandomPoisson", "Numbers of Poisson distributions that depend on the seed alone.",
                 given_shape)
      .cpu(kCounts, stateless<counted_of_stream<Counted::kPoisson, false>>)
      .not_differentiable();
}
OpDef random_poisson_v2_op() {
  return counted("RandomPoissonV2", "Numbers of Poisson distributions, as many as asked for of each.",
                 each_parameter_shape)
      .cpu(kCounts, make<CountedRandom<Counted::kPoisson>>);
}
OpDef stateless_random_binomial_op() {
  return counted("StatelessRandomBinomial", "Numbers of binomial distributions that depend on the seed alone.",
                 given_shape)
      .cpu(kCounts, stateless<binomial_cpu>)
      .not_differentiable();
}
OpDef stateful_random_binomial_op() {
  return OpDef("StatefulRandomBinomial")
      .doc("Numbers of binomial distributions, of the stream that a variable holds.")
      .traits({.writes_variable = true})
      .shape(given_shape_of_variable)
      .kernel_attr("dtype")
      .value_inputs({2})
      .cpu(kCounts, stateless<stateful_binomial_cpu>);
}

}  // namespace emplace
