// Part of core/formats/onnx/op_table.h: Fourier transforms and causal convolutions of signals.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/products.h"

namespace emplace {
namespace {

constexpr int64_t kMostTransformed = 8192;        // samples of a transform, which is a product with a matrix
constexpr int64_t kMostWaves = int64_t{1} << 25;  // elements of that

/// One transform: samples that are read, and made.
struct FourierPlan {
  int64_t length = 0, read = 0, made = 0;
  bool inverse = false, real_result = false;  // of the inverse of a transform of which one half was given
};

/// [read,made] cosines or sines.
Endpoint waves(OnnxBlock& b, const FourierPlan& plan, bool sine) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(plan.read * plan.made));
  for (int64_t i = 0; i < plan.read; ++i) {
    // The half that is not given mirrors the other one.
    const bool twice = plan.real_result && i > 0 && 2 * i != plan.length;
    const double factor = (twice ? 2.0 : 1.0) / (plan.inverse ? static_cast<double>(plan.length) : 1.0);
    for (int64_t k = 0; k < plan.made; ++k) {
      const double angle = 2 * M_PI * static_cast<double>(i * k % plan.length) / static_cast<double>(plan.length);
      values.push_back(factor * (sine ? std::sin(angle) : std::cos(angle)));
    }
  }
  return b.constant(Tensor::of<double>(Shape{plan.read, plan.made}, values));
}

/// What is known of a transform along `axis` of x [...,1 or 2]; nothing, and the block fails, if that is too little.
std::optional<FourierPlan> fourier_plan(OnnxBlock& b, Endpoint x, int axis, std::optional<int64_t> length) {
  FourierPlan plan;
  const int64_t size = b.dim(x, axis), parts = b.dim(x, b.rank(x) - 1);
  const bool half = b.integer("onesided", 0) != 0;
  plan.inverse = b.integer("inverse", 0) != 0;
  plan.real_result = plan.inverse && half;
  if (size < 1 || axis == b.rank(x) - 1 || (parts != 1 && parts != 2))
    return b.fail("a signal whose sizes are not known, or do not fit"), std::nullopt;
  plan.length = length.value_or(plan.real_result ? 2 * (size - 1) : size);
  if (plan.length < 1 || plan.length > kMostTransformed)
    return b.fail(cat("a transform of ", plan.length, " samples; wanted 1 to ", kMostTransformed)), std::nullopt;
  plan.read = std::min(size, plan.real_result ? plan.length / 2 + 1 : plan.length);
  plan.made = half && !plan.inverse ? plan.length / 2 + 1 : plan.length;
  if (plan.read * plan.made > kMostWaves) return b.fail("a transform of too many samples"), std::nullopt;
  return plan;
}

/// A transform whose samples are brought last and cut to those that are read: there it is a product with waves.
struct FourierSteps {
  Endpoint cosines, sines;  // [read,made]
  bool inverse = false, real_result = false;
  std::function<Endpoint(Endpoint)> to_last, from_last;
};

/// Real and imaginary parts beside each other in the last dimension, as in x.
Endpoint transformed(OnnxBlock& b, Endpoint x, const FourierSteps& f) {
  const int last = b.rank(x) - 1;
  const DType own = b.type(x), used = own == DType::kDouble ? own : DType::kFloat;
  const auto part = [&](int64_t i) { return f.to_last(b.squeeze(b.slice(b.cast(x, used), last, i, i + 1), {last})); };
  const Endpoint cosines = b.cast(f.cosines, used), sines = b.cast(f.sines, used);
  const bool complex = b.dim(x, last) == 2;
  const Endpoint re = part(0), im = complex ? part(1) : Endpoint{};
  const auto product = [&](Endpoint signal, Endpoint wave) { return onnx_product(b, signal, wave); };
  // e^(-ia) forward, e^(ia) back.
  Endpoint y_re = product(re, cosines), y_im = product(re, sines);
  if (!f.inverse) y_im = b.math("Neg", {y_im});
  if (complex) {
    const Endpoint across = product(im, sines);
    y_re = f.inverse ? b.sub(y_re, across) : b.add(y_re, across);
    y_im = b.add(y_im, product(im, cosines));
  }
  y_re = b.expand(f.from_last(y_re), last);
  if (f.real_result) return b.cast(y_re, own);
  return b.cast(b.concat({y_re, b.expand(f.from_last(y_im), last)}, last), own);
}

Endpoint transformed_along(OnnxBlock& b, Endpoint x, int axis, const FourierPlan& plan) {
  Ints perm(static_cast<size_t>(b.rank(x) - 1));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  const auto cut = [&](Endpoint e) { return b.transpose(b.slice(e, axis, 0, plan.read), perm); };
  const auto back = [&](Endpoint e) { return b.transpose(e, perm); };
  return transformed(b, x, {waves(b, plan, false), waves(b, plan, true), plan.inverse, plan.real_result, cut, back});
}

// --- where axis, length or sizes are known only in the run: int64 scalars ---

Endpoint range_to(OnnxBlock& b, Endpoint end) { return b.make("Range", {b.int64(0), end, b.int64(1)}); }

Endpoint size_along(OnnxBlock& b, Endpoint x, Endpoint axis) {
  return b.make("GatherV2", {b.shape_of(x), axis, b.int32(0)});
}

/// All angles of a transform, and what each sample counts.
std::pair<Endpoint, Endpoint> waves_of_run(OnnxBlock& b, Endpoint length, Endpoint read, Endpoint made, bool inverse,
                                           bool real_result) {
  const Endpoint sample = range_to(b, read), n = b.cast(length, DType::kDouble);
  const Endpoint turns = b.make("FloorMod", {b.mul(b.expand(sample, 1), b.expand(range_to(b, made), 0)), length});
  const Endpoint angle = b.div(b.mul(b.cast(turns, DType::kDouble), b.scalar(DType::kDouble, 2 * M_PI)), n);
  Endpoint factor = b.scalar(DType::kDouble, 1);
  if (real_result) {
    // The half that is not given mirrors the other one.
    const Endpoint middle = b.make("Equal", {b.mul(sample, b.int64(2)), length}),
                   first = b.make("Equal", {sample, b.int64(0)});
    factor = b.expand(b.select(b.make("LogicalOr", {first, middle}), factor, b.scalar(DType::kDouble, 2)), 1);
  }
  if (inverse) factor = b.div(factor, n);
  return {b.mul(b.make("Cos", {angle}), factor), b.mul(b.make("Sin", {angle}), factor)};
}

/// `axis`: 0 to the rank less two. `length`: none, where it is the axis's.
Endpoint transformed_in_run(OnnxBlock& b, Endpoint x, Endpoint axis, std::optional<Endpoint> given) {
  const int last = b.rank(x) - 1;
  const int64_t parts = b.dim(x, last);
  if (last < 1 || (parts != 1 && parts != 2)) return b.fail("a signal without a last dimension of 1 or 2");
  FourierSteps f;
  f.inverse = b.integer("inverse", 0) != 0;
  const bool half = b.integer("onesided", b.node().op == "STFT" ? 1 : 0) != 0;
  f.real_result = f.inverse && half;
  const Endpoint size = size_along(b, x, axis), one = b.int64(1), two = b.int64(2);
  const Endpoint length = given ? *given : f.real_result ? b.mul(b.sub(size, one), two) : size;
  const Endpoint half_length = b.add(b.make("FloorDiv", {length, two}), one);
  const Endpoint read = b.math("Minimum", {size, f.real_result ? half_length : length});
  std::tie(f.cosines, f.sines) =
      waves_of_run(b, length, read, half && !f.inverse ? half_length : length, f.inverse, f.real_result);
  Ints all(static_cast<size_t>(last));
  std::iota(all.begin(), all.end(), 0);
  const Endpoint places = b.ints(all), end = b.int64(last - 1);
  const Endpoint perm =
      b.select(b.make("Equal", {places, axis}), end, b.select(b.make("Equal", {places, end}), axis, places));
  f.to_last = [&](Endpoint e) {
    return b.make("GatherV2", {b.make("Transpose", {e, perm}), range_to(b, read), b.int32(last - 1)});
  };
  f.from_last = [&](Endpoint e) { return b.make("Transpose", {e, perm}); };
  return transformed(b, x, f);
}

std::optional<Endpoint> scalar_input(OnnxBlock& b, size_t input) {
  if (!b.has(input)) return std::nullopt;
  return b.cast(b.reshape(b.input(input), Ints{}), DType::kInt64);
}

/// The one number of an input that need not be there.
std::optional<int64_t> number_input(OnnxBlock& b, size_t input, std::string_view what) {
  if (!b.has(input)) return std::nullopt;
  const Ints values = b.wanted(b.input(input), what);
  if (values.size() == 1) return values[0];
  b.fail(cat(what, ": wanted one number"));
  return std::nullopt;
}

Endpoints dft(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const bool axis_is_input = b.version() >= 20;
  const auto open = [&](size_t input) { return b.has(input) && !b.known(b.input(input)); };
  if (axis_is_input && open(2)) {
    const Endpoint axis = b.make("FloorMod", {*scalar_input(b, 2), b.int64(b.rank(x))});
    return {transformed_in_run(b, x, axis, scalar_input(b, 1))};
  }
  const int64_t given = axis_is_input ? number_input(b, 2, "axes").value_or(-2) : b.integer("axis", 1);
  const int axis = b.axis(given, b.rank(x));
  if (!b.failed() && axis < b.rank(x) - 1 && (open(1) || b.dim(x, axis) < 0))
    return {transformed_in_run(b, x, b.int64(axis), scalar_input(b, 1))};
  const std::optional<int64_t> length = number_input(b, 1, "lengths");
  const std::optional<FourierPlan> plan = fourier_plan(b, x, axis, length);
  return {plan ? transformed_along(b, x, axis, *plan) : Endpoint{}};
}

/// Of [N,samples,1 or 2]: transforms of pieces that begin a step apart, each times the window.
Endpoints stft(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  if (b.rank(x) != 3) return {b.fail("a signal that is not [batch,samples,1 or 2]")};
  if (!b.has(2) && !b.has(3)) return {b.fail("neither a window nor a frame_length")};
  if (!b.has(1)) return {b.fail("no frame_step")};
  const Endpoint step = *scalar_input(b, 1);
  const Endpoint length = b.has(2) ? size_along(b, b.input(2), b.int64(0)) : *scalar_input(b, 3);
  const Endpoint begin_last = b.sub(size_along(b, x, b.int64(1)), length);
  const Endpoint pieces = b.add(b.make("FloorDiv", {begin_last, step}), b.int64(1));
  const Endpoint at = b.add(b.expand(b.mul(range_to(b, pieces), step), 1), b.expand(range_to(b, length), 0));
  Endpoint cut = b.make("GatherV2", {x, at, b.int32(1)});
  if (b.has(2)) cut = b.mul(cut, b.expand(b.cast(b.input(2), b.type(x)), 1));
  return {transformed_in_run(b, cut, b.int64(2), std::nullopt)};
}

/// A depthwise convolution along [N,C,L] that looks back only; what it will look back to next time comes out too.
Endpoints causal_conv_with_state(OnnxBlock& b) {
  const Endpoint x = b.input(0), filter = b.input(1);
  const int64_t width = b.dim(filter, 2), channels = b.dim(filter, 0);
  if (b.rank(x) != 3 || b.rank(filter) != 3 || width < 1 || channels < 1)
    return {b.fail("an input or a filter that is not of rank 3, or whose sizes are not known")};
  const std::string activation = b.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return {b.fail(cat("activation '", activation, "'"), "none, silu or swish")};
  const Endpoint none =
      b.make("Fill", {b.concat({b.dim_of(x, 0), b.dim_of(x, 1), b.ints({width - 1})}, 0), b.like(x, 0)});
  const Endpoint whole = b.concat({b.has(3) ? b.input(3) : none, x}, 2);
  OnnxWindow w;
  w.kernel = {width}, w.strides = w.dilations = {1}, w.before = w.after = w.extra = {0};
  Endpoint y = onnx_convolution(b, whole, filter, w, channels, b.input_or(2, {}));
  if (activation != "none") y = b.mul(y, b.math("Sigmoid", {y}));
  return {y, width == 1 ? b.slice(whole, 2, 0, 0) : b.slice(whole, 2, 1 - width, std::numeric_limits<int32_t>::max())};
}

/// [bins of a spectrum, bands]: triangles, evenly spaced on the mel scale, with their tops at 1.
Endpoints mel_weight_matrix(OnnxBlock& b) {
  const auto real = [&](size_t i) { return b.cast(b.reshape(b.input(i), Ints{}), DType::kDouble); };
  const auto number = [&](double v) { return b.scalar(DType::kDouble, v); };
  const auto whole = [&](size_t i) { return b.cast(b.reshape(b.input(i), Ints{}), DType::kInt64); };
  const auto count_to = [&](Endpoint n) {
    return b.cast(b.make("Range", {b.int64(0), n, b.int64(1)}), DType::kDouble);
  };
  const double scale = 2595 / std::log(10.0);
  const auto mel = [&](size_t i) { return b.mul(b.make("Log1p", {b.div(real(i), number(700))}), number(scale)); };
  const Endpoint bands = whole(0), length = whole(1), low = mel(3), corners = b.add(bands, b.int64(2));
  const Endpoint step = b.div(b.sub(mel(4), low), b.cast(corners, DType::kDouble));
  const Endpoint mels = b.add(b.mul(count_to(corners), step), low);
  const Endpoint hertz = b.mul(b.make("Expm1", {b.div(mels, number(scale))}), number(700));
  const Endpoint scaled = b.mul(hertz, b.cast(b.add(length, b.int64(1)), DType::kDouble));
  const Endpoint places = b.math("FloorDiv", {scaled, real(2)});
  const Endpoint left = b.slice(places, 0, 0, -2), top = b.slice(places, 0, 1, -1),
                 right = b.slice(places, 0, 2, INT32_MAX);
  const Endpoint bins = b.add(b.math("FloorDiv", {length, b.int64(2)}), b.int64(1));
  const Endpoint at = b.expand(count_to(bins), 1);
  const auto share = [&](Endpoint part, Endpoint all) { return b.div(part, b.make("Maximum", {all, number(1)})); };
  const auto inside = [&](Endpoint from, const char* less, Endpoint to) {
    return b.make("LogicalAnd", {b.make("LessEqual", {from, at}), b.make(less, {at, to})});
  };
  const Endpoint flat = b.make("LogicalAnd", {b.make("Equal", {left, top}), b.make("Equal", {at, top})});
  const Endpoint rising = b.select(inside(left, "LessEqual", top), share(b.sub(at, left), b.sub(top, left)), number(0));
  const Endpoint peaked = b.select(flat, number(1), rising);
  const Endpoint y = b.select(inside(top, "Less", right), share(b.sub(right, at), b.sub(right, top)), peaked);
  const std::optional<DType> type = onnx_dtype(b.integer("output_datatype", 1));
  return {type ? b.cast(y, *type) : b.fail("of a type that is not read")};
}

constexpr OnnxOp kSignalOps[] = {
    {"CausalConvWithState", 27, causal_conv_with_state},
    {"DFT", 17, dft},
    {"MelWeightMatrix", 17, mel_weight_matrix},
    {"STFT", 17, stft},
};

}  // namespace

std::span<const OnnxOp> onnx_signal_ops() { return kSignalOps; }

}  // namespace emplace
