// Part of core/formats/onnx/op_table.h: normalisation.
#include <algorithm>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/layout.h"

namespace emplace {
namespace {

Ints axes_from(OnnxBlock& b, Endpoint x, int first) {
  Ints axes;
  for (int i = first; i < b.rank(x); ++i) axes.push_back(i);
  return axes;
}

struct Moments {
  Endpoint centred, mean, variance;
};

Moments moments(OnnxBlock& b, Endpoint x, const Ints& axes) {
  Moments m;
  m.mean = b.reduce("Mean", x, axes);
  m.centred = b.sub(x, m.mean);
  m.variance = b.reduce("Mean", b.mul(m.centred, m.centred), axes);
  return m;
}

Endpoint inverse_deviation(OnnxBlock& b, Endpoint variance, float epsilon) {
  return b.math("Rsqrt", {b.add(variance, b.like(variance, epsilon))});
}

/// As one op where there is one: images of float32.
Endpoint batch_normalised(OnnxBlock& b, Endpoint x, Endpoint mean, Endpoint variance, float epsilon) {
  const int rank = b.rank(x);
  const DType own = b.type(x);
  const auto in_type = [&](Endpoint e) { return b.cast(e, own); };
  const Endpoint scale = in_type(b.input(1)), bias = in_type(b.input(2));
  if (rank == 4 && own == DType::kFloat) {
    const bool last = is_turned(b, x);
    const Endpoint y =
        b.make("FusedBatchNormV2", {last ? channels_last(b, x) : x, scale, bias, in_type(mean), in_type(variance)},
               {{"epsilon", attr_of(epsilon)},
                {"is_training", attr_of(false)},
                {"data_format", attr_of(last ? "NHWC" : "NCHW")}});
    return last ? channels_first(b, y) : y;
  }
  const Endpoint factor = b.mul(inverse_deviation(b, in_type(variance), epsilon), scale);
  const Endpoint shift = b.sub(bias, b.mul(in_type(mean), factor));
  return b.add(b.mul(x, b.per_channel(factor, rank)), b.per_channel(shift, rank));
}

Endpoints batch_normalization(OnnxBlock& b) {
  const Endpoint x = b.input(0), mean = b.input(3), variance = b.input(4);
  const float epsilon = b.number("epsilon", 1e-5F), momentum = b.number("momentum", 0.9F);
  if (b.integer("training_mode", 0) == 0 && !(b.version() < 14 && b.wants(1)))
    return {batch_normalised(b, x, mean, variance, epsilon)};
  Ints axes{0};
  for (int64_t a : axes_from(b, x, 2)) axes.push_back(a);
  const Moments m = moments(b, x, axes);
  const Endpoint own_mean = b.reshape(m.mean, Ints{-1}), own_variance = b.reshape(m.variance, Ints{-1});
  const auto running = [&](Endpoint old, Endpoint now) {
    return b.add(b.mul(old, b.like(old, momentum)), b.mul(now, b.like(now, 1 - momentum)));
  };
  return {batch_normalised(b, x, own_mean, own_variance, epsilon), running(mean, own_mean),
          running(variance, own_variance)};
}

Endpoints instance_normalization(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int rank = b.rank(x);
  const Moments m = moments(b, x, axes_from(b, x, 2));
  const Endpoint scaled = b.mul(m.centred, inverse_deviation(b, m.variance, b.number("epsilon", 1e-5F)));
  return {b.add(b.mul(scaled, b.per_channel(b.input(1), rank)), b.per_channel(b.input(2), rank))};
}

/// Statistics in float32 (stash_type 1).
Endpoint statistics_type(OnnxBlock& b, Endpoint x) {
  return b.integer("stash_type", 1) == 1 && is_floating(b.type(x)) && b.type(x) != DType::kDouble
             ? b.cast(x, DType::kFloat)
             : x;
}

Endpoints layer_normalization(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int axis = b.axis(b.integer("axis", -1), b.rank(x));
  const Endpoint wide = statistics_type(b, x);
  const Moments m = moments(b, wide, axes_from(b, x, axis));
  const Endpoint inverse = inverse_deviation(b, m.variance, b.number("epsilon", 1e-5F));
  Endpoint y = b.mul(b.cast(b.mul(m.centred, inverse), b.type(x)), b.input(1));
  if (b.has(2)) y = b.add(y, b.input(2));
  return {y, m.mean, inverse};
}

Endpoints rms_normalization(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int axis = b.axis(b.integer("axis", -1), b.rank(x));
  const Endpoint wide = statistics_type(b, x);
  const Endpoint square = b.reduce("Mean", b.mul(wide, wide), axes_from(b, x, axis));
  const Endpoint y = b.mul(wide, inverse_deviation(b, square, b.number("epsilon", 1e-5F)));
  return {b.mul(b.cast(y, b.type(x)), b.input(1))};
}

Endpoints group_normalization(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int rank = b.rank(x);
  const int64_t groups = b.integer("num_groups", 1), channels = b.dim(x, 1);
  if (groups < 1 || channels < 0 || channels % groups != 0) return {b.fail("groups that do not fit the channels")};
  const Endpoint wide = statistics_type(b, x);
  const Endpoint sizes = b.concat({b.dim_of(x, 0), b.ints({groups, -1})}, 0);
  const Moments m = moments(b, b.reshape_to(wide, sizes), {2});
  Endpoint y = b.mul(m.centred, inverse_deviation(b, m.variance, b.number("epsilon", 1e-5F)));
  y = b.cast(b.reshape_to(y, b.shape_of(x)), b.type(x));
  // Before version 21 scale and bias are those of groups.
  const auto each = [&](Endpoint e) {
    if (b.version() >= 21 || b.dim(e, 0) != groups) return b.per_channel(e, rank);
    const Endpoint all = b.make("Tile", {b.expand(e, 1), b.ints({1, channels / groups})});
    return b.per_channel(b.reshape(all, Ints{-1}), rank);
  };
  return {b.add(b.mul(y, each(b.input(1))), each(b.input(2)))};
}

Endpoints mean_variance_normalization(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const Moments m = moments(b, x, b.integers("axes", Ints{0, 2, 3}));
  return {b.div(m.centred, b.add(b.math("Sqrt", {m.variance}), b.like(x, 1e-9)))};
}

/// Where the norm is 0, so is the result.
Endpoints lp_normalization(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int axis = b.axis(b.integer("axis", -1), b.rank(x));
  const int64_t p = b.integer("p", 2);
  if (p != 1 && p != 2) return {b.fail(cat("p is ", p), "1 or 2")};
  const bool one = p == 1;
  Endpoint norm = b.reduce("Sum", one ? b.math("Abs", {x}) : b.mul(x, x), {axis});
  if (!one) norm = b.math("Sqrt", {norm});
  return {b.math("DivNoNan", {x, norm})};
}

/// Sums of squares of neighbouring channels.
Endpoints lrn(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const int64_t size = b.integer("size", 1), channels = b.dim(x, 1);
  const float alpha = b.number("alpha", 1e-4F), beta = b.number("beta", 0.75F), bias = b.number("bias", 1);
  if (size < 1 || size > 4096 || channels < 0 || b.rank(x) < 2) return {b.fail("a size that does not fit")};
  const int64_t before = (size - 1) / 2;
  if (b.rank(x) == 4 && size % 2 == 1 && b.type(x) == DType::kFloat) {
    const Endpoint y = b.make("LRN", {channels_last(b, x)},
                              {{"depth_radius", attr_of(before)},
                               {"bias", attr_of(bias)},
                               {"alpha", attr_of(alpha / static_cast<float>(size))},
                               {"beta", attr_of(beta)}});
    return {channels_first(b, y)};
  }
  Ints rows(2 * static_cast<size_t>(b.rank(x)), 0);
  rows[2] = before, rows[3] = size - 1 - before;
  const Endpoint squares = b.make("Pad", {b.mul(x, x), b.reshape(b.ints(rows), Ints{-1, 2})});
  Endpoint sum;
  for (int64_t k = 0; k < size && !b.failed(); ++k) {
    const Endpoint part = b.slice(squares, 1, k, k + channels);
    sum = k == 0 ? part : b.add(sum, part);
  }
  const Endpoint base = b.add(b.mul(sum, b.like(x, alpha / static_cast<float>(size))), b.like(x, bias));
  return {b.div(x, b.math("Pow", {base, b.like(x, beta)}))};
}

constexpr OnnxOp kNormOps[] = {
    {"BatchNormalization", 6, batch_normalization},
    {"GroupNormalization", 18, group_normalization},
    {"InstanceNormalization", 6, instance_normalization},
    {"LRN", 1, lrn},
    {"LayerNormalization", 17, layer_normalization},
    {"LpNormalization", 1, lp_normalization},
    {"MeanVarianceNormalization", 9, mean_variance_normalization},
    {"RMSNormalization", 23, rms_normalization},
};

}  // namespace

std::span<const OnnxOp> onnx_norm_ops() { return kNormOps; }

}  // namespace emplace
