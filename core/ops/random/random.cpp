// RandomUniform, RandomStandardNormal, TruncatedNormal, RandomUniformInt, RandomShuffle, StatelessShuffle, Multinomial,
// StatelessMultinomial.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/convert.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"

namespace emplace {
namespace {

constexpr uint64_t kBlocksPerElement = 256;  // reserved by a run, whatever it uses

Status random_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, std::move(out));
  return ok_status();
}

/// The output with the shape that input 0 holds; how many elements it has.
Result<int64_t> output_of_shape(KernelContext& c) {
  ASSIGN_OR_RETURN(Shape shape, shape_of_values(c.input(0)));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  return c.output(0).num_elements();
}

template <Distribution kDistribution>
class Random final : public Kernel {
 public:
  explicit Random(const KernelInit& init) : state_(init) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const int64_t n, output_of_shape(c));
    const PhiloxStream stream = state_.reserve(kBlocksPerElement * static_cast<uint64_t>(n));
    fill_random(*c.parallel_, stream, kDistribution, c.output(0).dtype(), c.output(0).raw(), n);
    return ok_status();
  }

 private:
  RandomState state_;
};

class RandomUniformInt final : public Kernel {
 public:
  explicit RandomUniformInt(const KernelInit& init) : state_(init) {}
  Status run(KernelContext& c) override {
    static constexpr std::string_view kNames[] = {"minval", "maxval"};
    for (int i : {1, 2}) {
      if (c.input(i).shape().rank() == 0) continue;
      return invalid_argument(cat(kNames[i - 1], " must be 0-D, got shape ", c.input(i).shape().to_string()));
    }
    ASSIGN_OR_RETURN(const int64_t n, output_of_shape(c));
    if (n == 0) return ok_status();
    const int64_t low = int_at(c.input(1), 0), high = int_at(c.input(2), 0);
    if (low >= high) return invalid_argument(cat("Need minval < maxval, got ", low, " >= ", high));
    const PhiloxStream stream = state_.reserve(kBlocksPerElement * static_cast<uint64_t>(n));
    fill_random_integers(*c.parallel_, stream, c.output(0).dtype(), low, high, c.output(0).raw(), n);
    return ok_status();
  }

 private:
  RandomState state_;
};

/// Rows change places: row i with one of those from i on. `stream_for(n)`: a stream that is asked for n words.
template <class F>
Status shuffle_rows(KernelContext& c, const F& stream_for) {
  const Tensor& in = c.input(0);
  const int64_t total = in.num_elements(), rows = in.shape().rank() == 0 ? 1 : in.shape().dim(0);
  copy_elements(in.dtype(), in.raw(), c.output(0).raw(), total);
  if (rows <= 1 || total == 0) return ok_status();
  const PhiloxStream stream = stream_for(rows - 1);
  PhiloxWords words(stream, 0);
  const int64_t width = total / rows;
  with_element(in.dtype(), [&]<class E>(const E&) {
    E* y = c.out<E>(0);
    for (int64_t i = 0; i + 1 < rows; ++i) {
      const int64_t other = i + static_cast<int64_t>(words.next() % static_cast<uint64_t>(rows - i));
      if (other != i) std::swap_ranges(y + i * width, y + (i + 1) * width, y + other * width);
    }
  });
  return ok_status();
}

class RandomShuffle final : public Kernel {
 public:
  explicit RandomShuffle(const KernelInit& init) : state_(init) {}
  Status run(KernelContext& c) override {
    return shuffle_rows(c, [&](int64_t words) { return state_.reserve(static_cast<uint64_t>((words + 3) / 4)); });
  }

 private:
  RandomState state_;
};

Status stateless_shuffle_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape key, c.with_rank(1, 1));
  RETURN_IF_ERROR(c.with_rank(2, 1).take_status());
  RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  RETURN_IF_ERROR(require_dim(key.dim(0), 1).take_status());
  c.set_output(0, c.input(0));
  return ok_status();
}

Status stateless_shuffle_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const PhiloxStream stream, philox_from_counter(c.input(1), c.input(2), c.input(3)));
  return shuffle_rows(c, [&](int64_t) { return stream; });
}

Status multinomial_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape logits, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(int64_t samples, dim_from_scalar(c, 1));
  c.set_output(0, Shape{logits.dim(0), samples});
  return ok_status();
}

double logit_at(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::kDouble) return t.data<double>()[i];
  if (t.dtype() == DType::kFloat) return static_cast<double>(t.data<float>()[i]);
  float wide;
  widening(t.dtype())(element_at(t, i), &wide, 1);
  return static_cast<double>(wide);
}

/// Logits that are not finite do not count.
double running_sums(const Tensor& logits, int64_t first, ScratchVector<double>& running) {
  double top = std::numeric_limits<double>::lowest(), total = 0;
  for (size_t j = 0; j < running.size(); ++j) {
    const double x = running[j] = logit_at(logits, first + static_cast<int64_t>(j));
    if (std::isfinite(x)) top = std::max(top, x);
  }
  for (double& x : running) {
    if (std::isfinite(x)) total += std::exp(x - top);
    x = total;
  }
  return total;
}

/// Classes drawn with probabilities proportional to exp(logit), row by row from one run of words. `stream_for(n)`: a
/// stream that may be asked for n numbers.
template <class F>
Status draw_classes(KernelContext& c, const F& stream_for) {
  const Tensor& logits = c.input(0);
  const int64_t rows = logits.shape().dim(0), classes = logits.shape().dim(1), samples = int_at(c.input(1), 0);
  if (samples < 0) return invalid_argument(cat("num_samples should be nonnegative, got ", samples));
  if (classes <= 0) return invalid_argument(cat("num_classes should be positive, got ", classes));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{rows, samples}));
  ASSIGN_OR_RETURN(const PhiloxStream stream, stream_for(static_cast<uint64_t>(rows * ((samples + 3) / 4 * 4))));
  PhiloxWords words(stream, 0);
  ScratchVector<double> running(static_cast<size_t>(classes));
  for (int64_t r = 0; r < rows; ++r) {
    const double total = running_sums(logits, r * classes, running);
    for (int64_t i = 0; i < samples; ++i) {
      const double wanted = words.next_double() * total;
      const auto found = std::upper_bound(running.begin(), running.end(), wanted) - running.begin();
      with_index(c.output(0).dtype(), [&]<class T>(T) { c.out<T>(0)[r * samples + i] = static_cast<T>(found); });
    }
  }
  return ok_status();
}

class Multinomial final : public Kernel {
 public:
  explicit Multinomial(const KernelInit& init) : state_(init) {}
  Status run(KernelContext& c) override {
    return draw_classes(c,
                        [&](uint64_t n) -> Result<PhiloxStream> { return state_.reserve(2 * kBlocksPerElement * n); });
  }

 private:
  RandomState state_;
};

Status stateless_multinomial_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape seed, c.with_rank(2, 1));
  RETURN_IF_ERROR(require_dim(seed.dim(0), 2).take_status());
  return multinomial_shape(c);
}

Status stateless_multinomial_cpu(KernelContext& c) {
  return draw_classes(c, [&](uint64_t) { return philox_from_seed(c.input(2)); });
}

template <Distribution kDistribution>
OpDef random(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .traits({.random = true})
      .shape(random_shape)
      .kernel_attr("dtype")
      .value_inputs({0})
      .cpu(kFloating, make<Random<kDistribution>>)
      .sample("shape=[2,3]; dtype=float32; seed=87654321; seed2=5");
}

}  // namespace

OpDef random_uniform_op() {
  return random<Distribution::kUniform>("RandomUniform", "Uniform numbers in [0, 1).").not_differentiable();
}
OpDef random_standard_normal_op() {
  return random<Distribution::kNormal>("RandomStandardNormal", "Normal numbers with mean 0 and deviation 1.")
      .not_differentiable();
}
OpDef truncated_normal_op() {
  return random<Distribution::kTruncatedNormal>("TruncatedNormal",
                                                "Normal numbers, those beyond two deviations drawn anew.")
      .not_differentiable();
}
OpDef random_uniform_int_op() {
  return OpDef("RandomUniformInt")
      .doc("Integers in [minval, maxval).")
      .traits({.random = true})
      .shape(random_shape)
      .kernel_attr("Tout")
      .value_inputs({0})
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, make<RandomUniformInt>)
      .sample("shape=[2,3]; minval=i32[] 3; maxval=i32[] 17; seed=7");
}
OpDef random_shuffle_op() {
  return OpDef("RandomShuffle")
      .doc("The rows of a tensor in another order.")
      .traits({.random = true})
      .shape(shape_unchanged)
      .cpu(kAllData, make<RandomShuffle>)
      .sample("value=f32[7,3] uniform(-2,2); seed=7")
      .not_differentiable();
}
OpDef stateless_shuffle_op() {
  return OpDef("StatelessShuffle")
      .doc("The rows of a tensor in another order, by a given stream.")
      .shape(stateless_shuffle_shape)
      .cpu(kAllData, stateless<stateless_shuffle_cpu>)
      .sample("value=f32[7,3] uniform(-2,2); key=u64[1] 5; counter=u64[2] 7; alg=1");
}
OpDef multinomial_op() {
  return OpDef("Multinomial")
      .doc("Classes drawn with probabilities proportional to exp(logits).")
      .traits({.random = true})
      .shape(multinomial_shape)
      .value_inputs({1})
      .cpu(kFloating, make<Multinomial>)
      .sample("logits=f32[2,5] uniform(-2,2); num_samples=4; seed=7")
      .not_differentiable();
}
OpDef stateless_multinomial_op() {
  return OpDef("StatelessMultinomial")
      .doc("Classes drawn with probabilities proportional to exp(logits), by the seed alone.")
      .shape(stateless_multinomial_shape)
      .value_inputs({1})
      .cpu(kFloating, stateless<stateless_multinomial_cpu>)
      .sample("logits=f32[2,5] uniform(-2,2); num_samples=4; seed=[5,7]")
      .not_differentiable();
}

}  // namespace emplace
