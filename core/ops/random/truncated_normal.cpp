// ParameterizedTruncatedNormal, StatelessParameterizedTruncatedNormal: normal numbers between two bounds, drawn by
// trying, with TensorFlow's algorithms and from its streams, as one thread does it there.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"

namespace emplace {
namespace {

constexpr DTypeSet kDrawn{DType::kHalf, DType::kFloat, DType::kDouble};
constexpr int64_t kMaxIterations = 1000;

/// Rows of numbers behind each other in one stream; every result is rounded to T.
template <class T>
class TruncatedDraws {
  using W = PhiloxWide<T>;
  static constexpr int kGroup = kPhiloxGroup<T>;
  static W rounded(W x) {
    if constexpr (std::is_same_v<W, T>) {
      return x;
    } else {
      return static_cast<W>(static_cast<T>(x));
    }
  }

 public:
  explicit TruncatedDraws(const PhiloxStream& stream) : stream_(stream) {}

  /// Calls write(i, number) for i in [0, count).
  template <class F>
  Status draw(T mean_in, T stddev_in, T minval_in, T maxval_in, int64_t count, const F& write) {
    const auto mean = static_cast<W>(mean_in);
    auto stddev = static_cast<W>(stddev_in), minval = static_cast<W>(minval_in), maxval = static_cast<W>(maxval_in);
    if (!(stddev > 0 && minval < maxval && (std::isfinite(minval) || std::isfinite(maxval))))
      return invalid_argument(
          cat("Invalid parameters: stddevs must be positive, minvals below maxvals and one of them "
              "finite; got ",
              stddev, ", ", minval, ", ", maxval));
    // A bound that is alone becomes the lower one, or both become positive.
    if ((std::isinf(minval) && minval < 0) || maxval < mean) {
      std::swap(minval, maxval);
      stddev = -stddev;
    }
    low_ = rounded(rounded(minval - mean) / stddev);
    high_ = rounded(rounded(maxval - mean) / stddev);
    count_ = count;
    const auto put = [&](int64_t i, W z) { write(i, static_cast<T>(rounded(z * stddev) + mean)); };
    const W root = rounded(std::sqrt(rounded(rounded(low_ * low_) + W(4))));
    const W power = rounded(W(0.5) + rounded(rounded(low_ * rounded(low_ - root)) / W(4)));
    const W cutoff = rounded(rounded(W(2) * rounded(std::exp(power))) / rounded(low_ + root));
    const W inside = rounded(W(1.3));  // standard deviations from which on few normal numbers lie outside
    if ((low_ < -inside && high_ >= 0) || (high_ > inside && low_ <= 0)) return try_normal(put);
    if (rounded(high_ - low_) < cutoff) return try_uniform(put);
    return try_exponential(put, rounded(rounded(low_ + root) / W(2)));
  }

 private:
  static Status failed(std::string_view sampler) {
    return internal_error(cat("TruncatedNormal ", sampler, " rejection sampler failed to accept a sample."));
  }

  template <class F>
  Status try_normal(const F& put) {
    W numbers[kGroup];
    int64_t iterations = 0;
    for (int64_t done = 0; done < count_;) {
      normal_group<T>(stream_, block_++, numbers);
      for (int i = 0; i < kGroup && done < count_; ++i) {
        const W z = rounded(numbers[i]);
        if (z >= low_ && z <= high_) {
          put(done++, z);
          iterations = 0;
        } else if (++iterations > kMaxIterations) {
          return failed("randn");
        }
      }
    }
    return ok_status();
  }

  template <class F>
  Status try_uniform(const F& put) {
    W places[kGroup], drawn[kGroup];
    const W diff = rounded(high_ - low_), plus = low_ < 0 ? W(0) : rounded(low_ * low_);
    int64_t iterations = 0;
    for (int64_t done = 0; done < count_;) {
      uniform_group<T>(stream_, block_++, places);
      uniform_group<T>(stream_, block_++, drawn);
      for (int i = 0; i < kGroup && done < count_; ++i) {
        const W z = rounded(rounded(places[i] * diff) + low_);
        const W density = rounded(std::exp(rounded(rounded(plus - rounded(z * z)) / W(2))));
        if (drawn[i] <= density) {
          put(done++, z);
          iterations = 0;
        } else if (++iterations >= kMaxIterations) {
          return failed("uniform");
        }
      }
    }
    return ok_status();
  }

  template <class F>
  Status try_exponential(const F& put, W alpha) {
    W drawn[kGroup];
    int64_t iterations = 0;
    for (int64_t done = 0; done < count_;) {
      uniform_group<T>(stream_, block_++, drawn);
      for (int i = 0; i < kGroup && done < count_; i += 2) {
        const W z = rounded(rounded(-rounded(std::log(drawn[i])) / alpha) + low_);
        const W x = low_ < alpha ? rounded(alpha - z) : rounded(low_ - alpha);
        const W density = rounded(std::exp(rounded(rounded(-x * x) / W(2))));
        if (drawn[i + 1] <= density && z < high_) {
          put(done++, z);
          iterations = 0;
        } else if (++iterations >= kMaxIterations) {
          return failed("exponential distribution");
        }
      }
    }
    return ok_status();
  }

  const PhiloxStream stream_;
  uint64_t block_ = 0;
  W low_ = 0, high_ = 0;
  int64_t count_ = 0;
};

template <class F>
auto with_drawn(DType t, const F& f) {
  if (t == DType::kHalf) return f(half{});
  if (t == DType::kDouble) return f(double{});
  return f(float{});
}

Status parameterized_shape(ShapeContext& c) {
  for (int i = 1; i < 5; ++i) RETURN_IF_ERROR(require_rank_at_most(c.input(i), 1).take_status());
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, std::move(out));
  return ok_status();
}

class ParameterizedTruncatedNormal final : public Kernel {
 public:
  explicit ParameterizedTruncatedNormal(const KernelInit& init) : state_(init) {}

  Status run(KernelContext& c) override {
    const Tensor& sizes = c.input(0);
    if (sizes.shape().rank() != 1 || sizes.num_elements() == 0)
      return invalid_argument(
          cat("Input shape should be a vector that is not empty, got shape: ", sizes.shape().to_string()));
    ASSIGN_OR_RETURN(const Shape shape, shape_of_values(sizes));
    RETURN_IF_ERROR(ensure_drawn(c, shape));
    int64_t rows = shape.dim(0), per_row = 1;
    for (int d = 1; d < shape.rank(); ++d) per_row *= shape.dim(d);
    const bool one = c.input(1).num_elements() == 1 && c.input(2).num_elements() == 1 &&
                     c.input(3).shape().rank() == 0 && c.input(4).shape().rank() == 0;
    if (one) {
      constexpr int64_t kRow = 100;
      rows = (shape.num_elements() + kRow - 1) / kRow;
      per_row = kRow;
    } else {
      RETURN_IF_ERROR(check_lengths(c, rows));
    }
    // TensorFlow counts in 32 bits.
    const auto numbers = static_cast<int32_t>(static_cast<uint32_t>(rows) * 2u * uint32_t{kMaxIterations} *
                                              static_cast<uint32_t>(per_row + 3));
    const PhiloxStream stream = state_.reserve(static_cast<uint64_t>(int64_t{numbers / 4}));
    if (shape.num_elements() == 0) return ok_status();  // however many rows have no numbers
    return with_drawn(c.output(0).dtype(), [&]<class T>(T) -> Status {
      TruncatedDraws<T> draws(stream);
      const auto parameter = [&](int i, int64_t row) { return c.in<T>(i)[c.input(i).num_elements() == 1 ? 0 : row]; };
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t begin = row * per_row, count = std::min(per_row, shape.num_elements() - begin);
        T* const out = c.out<T>(0) + begin;
        RETURN_IF_ERROR(draws.draw(parameter(1, row), parameter(2, row), parameter(3, row), parameter(4, row), count,
                                   [&](int64_t i, T z) { out[i] = z; }));
      }
      return ok_status();
    });
  }

 private:
  static Status ensure_drawn(KernelContext& c, const Shape& shape) {
    for (int i = 1; i < 5; ++i) {
      if (c.input(i).shape().rank() > 1)
        return invalid_argument(
            cat("Input parameters should be scalars or vectors, got shape: ", c.input(i).shape().to_string()));
    }
    if (c.output(0).raw() != nullptr && c.output(0).shape() == shape) return ok_status();
    return c.allocate_output(0, shape);
  }
  static Status check_lengths(const KernelContext& c, int64_t rows) {
    for (int i = 1; i < 5; ++i) {
      const int64_t length = c.input(i).num_elements();
      if (length != 1 && length != rows)
        return invalid_argument(cat("Input parameters should have length 1 or shape[0] = ", rows,
                                    ", got shape: ", c.input(i).shape().to_string()));
    }
    return ok_status();
  }

  RandomState state_;
};

Status stateless_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape seed, c.with_rank(1, 1));
  RETURN_IF_ERROR(require_dim(dim_or_unknown(seed, 0), 2).take_status());
  Shape all = c.input(2);
  for (int i = 3; i < 6; ++i) {
    ASSIGN_OR_RETURN(all, broadcast_shapes(all, c.input(i)));
  }
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, std::move(out));
  return ok_status();
}

/// The element of a tensor that is spread to `all`, at element `i` of that.
int64_t spread_index(const Shape& own, const Shape& all, int64_t i) {
  int64_t index = 0, stride = 1;
  for (int d = 0; d < own.rank(); ++d) {
    const int64_t size = own.dim_from_end(d + 1), whole = all.dim_from_end(d + 1);
    if (size > 1) index += i % whole * stride;
    stride *= size;
    i /= whole;
  }
  return index;
}

Status stateless_cpu(KernelContext& c) {
  if (c.input(1).shape().rank() != 1 || c.input(1).num_elements() != 2)
    return invalid_argument(cat("seed must have shape [2], not ", c.input(1).shape().to_string()));
  Shape all = c.input(2).shape();
  for (int i = 3; i < 6; ++i) {
    ASSIGN_OR_RETURN(all, broadcast_shapes(all, c.input(i).shape()));
  }
  if (c.input(0).shape().rank() != 1)
    return invalid_argument(cat("Input shape should be a vector, got shape: ", c.input(0).shape().to_string()));
  ASSIGN_OR_RETURN(const Shape shape, shape_of_values(c.input(0)));
  bool ends = shape.rank() >= all.rank();
  for (int d = 1; ends && d <= all.rank(); ++d) ends = shape.dim_from_end(d) == all.dim_from_end(d);
  if (!ends)
    return invalid_argument(cat("Shape passed in must end with broadcasted shape: ", shape.to_string(),
                                " does not end with ", all.to_string()));
  ASSIGN_OR_RETURN(const PhiloxStream stream, philox_from_seed(c.input(1)));
  if (c.output(0).raw() == nullptr || c.output(0).shape() != shape) RETURN_IF_ERROR(c.allocate_output(0, shape));
  if (shape.num_elements() == 0) return ok_status();
  const int64_t rows = all.num_elements(), per_row = shape.num_elements() / rows;
  return with_drawn(c.output(0).dtype(), [&]<class T>(T) -> Status {
    TruncatedDraws<T> draws(stream);
    const auto parameter = [&](int i, int64_t row) { return c.in<T>(i)[spread_index(c.input(i).shape(), all, row)]; };
    for (int64_t row = 0; row < rows; ++row) {
      T* const out = c.out<T>(0) + row;
      RETURN_IF_ERROR(draws.draw(parameter(2, row), parameter(3, row), parameter(4, row), parameter(5, row), per_row,
                                 [&](int64_t i, T z) { out[i * rows] = z; }));
    }
    return ok_status();
  });
}

// Φ(x), from whichever of erf and erfc is exact there.
Value normal_distribution(GradientContext& g, Value x) {
  const DType t = g.type(x);
  const Value root = g.scalar(t, 0.5 * std::sqrt(2.0), "half_sqrt_2"), w = g.mul(x, root);
  const Value z = g.add("Abs", {w});
  const Value near = g.add("AddV2", {g.scalar(t, 1, "add/x"), g.add("Erf", {w})}, {}, "add");
  const Value far =
      g.add("SelectV2", {g.add("Greater", {w, g.scalar(t, 0, "Greater/y")}),
                         g.add("Sub", {g.scalar(t, 2, "sub/x"), g.add("Erfc", {z})}, {}, "sub"), g.add("Erfc", {z})});
  const Value y = g.add("SelectV2", {g.add("Less", {z, root}), near, far});
  return g.mul(g.scalar(t, 0.5, "mul/x"), y);
}

/// Limits of a type: the least normal number, and the distance of 1 to the next.
std::pair<double, double> type_limits(DType t) {
  if (t == DType::kHalf) return {0x1p-14, 0x1p-10};
  if (t == DType::kDouble) return {std::numeric_limits<double>::min(), std::numeric_limits<double>::epsilon()};
  return {std::numeric_limits<float>::min(), std::numeric_limits<float>::epsilon()};
}

// Implicit reparameterisation (Figurnov et al., 2018).
Status stateless_gradient(GradientContext& g) {
  const Value dy = g.grad(0), mean = g.input(2), stddev = g.input(3);
  const DType t = g.type(mean);
  g.wait_for(dy);
  const auto sub = [&](Value a, Value b) { return g.add("Sub", {a, b}, {}, "sub"); };
  const auto div = [&](Value a, Value b) { return g.add("RealDiv", {a, b}, {}, "truediv"); };
  const auto standard = [&](Value x) { return div(sub(x, mean), stddev); };
  const Value low = standard(g.input(4)), high = standard(g.input(5)), z = standard(g.output(0));
  const Value phi_low = normal_distribution(g, low), phi_high = normal_distribution(g, high);
  Value cdf = div(sub(normal_distribution(g, z), phi_low), sub(phi_high, phi_low));
  const auto [tiny, epsilon] = type_limits(t);
  cdf = g.add("Minimum", {cdf, g.scalar(t, 1 - epsilon, "clip_by_value/Minimum/y")}, {}, "clip_by_value/Minimum");
  cdf = g.add("Maximum", {cdf, g.scalar(t, tiny, "clip_by_value/y")}, {}, "clip_by_value");
  const auto square = [&](Value x) { return g.add("Pow", {x, g.scalar(t, 2, "pow/y")}, {}, "pow"); };
  const auto by_bound = [&](Value bound, Value log) {
    const Value power = g.mul(g.scalar(t, 0.5, "mul/x"), sub(square(z), square(bound)));
    return g.add("Exp", {g.add("AddV2", {power, log}, {}, "add")});
  };
  const Value by_high = by_bound(high, g.add("Log", {cdf}));
  const Value by_low = by_bound(low, g.add("Log1p", {g.neg(cdf)}));
  Value all = g.shape_of(mean);
  for (int i = 3; i < 6; ++i) all = g.add("BroadcastArgs", {g.shape_of(g.input(i)), all});
  const Value extra = g.range(g.index(0), sub(g.size_of(g.input(0)), g.size_of(all)), g.index(1));
  const Value by[] = {g.add("OnesLike", {z}), z, by_low, by_high};
  for (int i = 0; i < 4; ++i) {
    const Value own = g.shape_of(g.input(2 + i)), sum = g.sum(g.mul(dy, by[i]), extra);
    const Value axes = g.add("BroadcastGradientArgs", {all, own}).output(1);
    g.set(2 + i, g.reshape(g.sum(sum, axes, true), own));
  }
  g.wait_for({});
  return g.status();
}

}  // namespace

OpDef parameterized_truncated_normal_op() {
  return OpDef("ParameterizedTruncatedNormal")
      .doc("Normal numbers between bounds; each row of the first dimension may have its mean, deviation and bounds.")
      .traits({.random = true})
      .shape(parameterized_shape)
      .kernel_attr("dtype")
      .cpu(kDrawn, make<ParameterizedTruncatedNormal>)
      .value_inputs({0})
      .not_differentiable();
}
OpDef stateless_parameterized_truncated_normal_op() {
  return OpDef("StatelessParameterizedTruncatedNormal")
      .doc(
          "Normal numbers between bounds, from a seed; means, deviations and bounds are spread to the last dimensions.")
      .shape(stateless_shape)
      .kernel_attr("dtype")
      .cpu(kDrawn, stateless<stateless_cpu>)
      .value_inputs({0})
      .gradient(stateless_gradient);
}

}  // namespace emplace
