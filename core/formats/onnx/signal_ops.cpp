// Part of core/formats/onnx/op_table.h: Fourier transforms and causal convolutions of signals.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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

/// Real and imaginary parts beside each other in the last dimension, as in x.
Endpoint transformed(OnnxBlock& b, Endpoint x, int axis, const FourierPlan& plan) {
  const int last = b.rank(x) - 1;
  const DType own = b.type(x), used = own == DType::kDouble ? own : DType::kFloat;
  Ints perm(static_cast<size_t>(last));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  const auto part = [&](int64_t i) {
    const Endpoint samples = b.slice(b.cast(x, used), axis, 0, plan.read);
    return b.transpose(b.squeeze(b.slice(samples, last, i, i + 1), {last}), perm);
  };
  const Endpoint cosines = b.cast(waves(b, plan, false), used), sines = b.cast(waves(b, plan, true), used);
  const bool complex = b.dim(x, last) == 2;
  const Endpoint re = part(0), im = complex ? part(1) : Endpoint{};
  const auto product = [&](Endpoint signal, Endpoint wave) { return onnx_product(b, signal, wave); };
  // e^(-ia) forward, e^(ia) back.
  Endpoint y_re = product(re, cosines), y_im = product(re, sines);
  if (!plan.inverse) y_im = b.math("Neg", {y_im});
  if (complex) {
    const Endpoint across = product(im, sines);
    y_re = plan.inverse ? b.sub(y_re, across) : b.add(y_re, across);
    y_im = b.add(y_im, product(im, cosines));
  }
  y_re = b.expand(b.transpose(y_re, perm), last);
  if (plan.real_result) return b.cast(y_re, own);
  return b.cast(b.concat({y_re, b.expand(b.transpose(y_im, perm), last)}, last), own);
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
  const std::optional<int64_t> length = number_input(b, 1, "lengths");
  const int64_t given = b.version() < 20 ? b.integer("axis", 1) : number_input(b, 2, "axes").value_or(-2);
  const int axis = b.axis(given, b.rank(x));
  const std::optional<FourierPlan> plan = fourier_plan(b, x, axis, length);
  return {plan ? transformed(b, x, axis, *plan) : Endpoint{}};
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

constexpr OnnxOp kSignalOps[] = {
    {"CausalConvWithState", 27, causal_conv_with_state},
    {"DFT", 17, dft},
};

}  // namespace

std::span<const OnnxOp> onnx_signal_ops() { return kSignalOps; }

}  // namespace emplace
