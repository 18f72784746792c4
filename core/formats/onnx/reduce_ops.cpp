// Part of core/formats/onnx/op_table.h: reductions along axes.
#include <algorithm>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/layout.h"

namespace emplace {
namespace {

/// What is done before and after the reduction itself.
enum class Around : uint8_t { kNothing, kAbs, kSquare, kSquareRoot, kLog, kLogSumExp };

/// All axes where none are given, unless the node says that this means none.
Endpoint reduced(OnnxBlock& b, std::string_view op, Endpoint x, Endpoint axes, bool keep) {
  return b.math(op, {x, axes}, {{"keep_dims", attr_of(keep)}});
}

Endpoint axes_of(OnnxBlock& b, Endpoint x, bool& none) {
  none = false;
  if (b.has_attribute("axes")) return b.ints32(b.integers("axes", {}));
  if (b.has(1)) {
    const Endpoint axes = b.input(1);
    const std::optional<Ints> known = b.known(axes);
    if (known && !known->empty()) return b.ints32(*known);
    const bool empty = (known && known->empty()) || b.dim(axes, 0) == 0;
    if (!empty && b.integer("noop_with_empty_axes", 0) == 0 && b.dim(axes, 0) < 0)
      return b.fail("axes of a number that is not known");
    if (!empty) return axes;
  }
  none = b.integer("noop_with_empty_axes", 0) != 0;
  Ints all(static_cast<size_t>(b.rank(x)));
  std::iota(all.begin(), all.end(), 0);
  return b.ints32(all);
}

Endpoint log_sum_exp(OnnxBlock& b, Endpoint x, Endpoint axes, bool keep) {
  const Endpoint top = reduced(b, "Max", x, axes, true);
  const Endpoint finite = b.select(b.math("IsFinite", {top}), top, b.like(x, 0));
  const Endpoint sum = reduced(b, "Sum", b.math("Exp", {b.sub(x, finite)}), axes, true);
  const Endpoint out = b.add(b.math("Log", {sum}), finite);
  return keep ? out : reduced(b, "Sum", out, axes, false);
}

Endpoint computed(OnnxBlock& b, std::string_view op, Around around, Endpoint x, Endpoint axes, bool none) {
  const bool keep = b.integer("keepdims", 1) != 0;
  if (around == Around::kLogSumExp) return none ? x : log_sum_exp(b, x, axes, keep);
  if (around == Around::kAbs) x = b.math("Abs", {x});
  if (around == Around::kSquare || around == Around::kSquareRoot) x = b.mul(x, x);
  if (!none) x = reduced(b, op, x, axes, keep);
  if (around == Around::kSquareRoot) x = b.math("Sqrt", {x});
  if (around == Around::kLog) x = b.math("Log", {x});
  return x;
}

/// The axes of an image with its channels last; nothing if what is left of it would be in another order.
std::optional<Endpoint> axes_with_channels_last(OnnxBlock& b, Endpoint x, Endpoint axes) {
  std::optional<Ints> known = is_turned(b, x) ? b.known(axes) : std::nullopt;
  if (!known) return std::nullopt;
  for (int64_t& a : *known) a = b.axis(a, 4);
  const auto gone = [&](int64_t a) { return std::count(known->begin(), known->end(), a) > 0; };
  if (b.integer("keepdims", 1) == 0 && !gone(1) && !(gone(2) && gone(3))) return std::nullopt;
  for (int64_t& a : *known) a = axis_with_channels_last(static_cast<int>(a));
  return b.ints32(*known);
}

Endpoints reduction(OnnxBlock& b, std::string_view op, Around around = Around::kNothing) {
  Endpoint x = b.input(0);
  const DType own = b.type(x);
  bool none = false;
  const Endpoint axes = axes_of(b, x, none);
  if (own == DType::kBool) x = b.cast(x, DType::kUInt8);
  if (is_integer(own) && around != Around::kNothing && around != Around::kAbs && around != Around::kSquare)
    x = b.cast(x, DType::kDouble);
  if (const std::optional<Endpoint> last = none ? std::nullopt : axes_with_channels_last(b, x, axes)) {
    const Endpoint y = b.cast(computed(b, op, around, channels_last(b, x), *last, none), own);
    return {b.integer("keepdims", 1) != 0 ? channels_first(b, y) : y};
  }
  return {b.cast(computed(b, op, around, x, axes, none), own)};
}

Endpoints arg_reduction(OnnxBlock& b, std::string_view op) {
  Endpoint x = b.input(0);
  const int rank = b.rank(x);
  const int axis = b.axis(b.integer("axis", 0), rank);
  const bool last = b.integer("select_last_index", 0) != 0;
  if (last) x = b.make("ReverseV2", {x, b.ints32({axis})});
  Endpoint at = b.math(op, {x, b.int32(axis)});
  if (last) at = b.sub(b.sub(b.cast(b.squeeze(b.dim_of(x, axis), {0}), DType::kInt64), b.int64(1)), at);
  return {b.integer("keepdims", 1) != 0 ? b.expand(at, axis) : at};
}

#define REDUCE(onnx, ...)                                           \
  {                                                                 \
    onnx, 1, [](OnnxBlock& b) { return reduction(b, __VA_ARGS__); } \
  }

constexpr OnnxOp kReduceOps[] = {
    {"ArgMax", 1, [](OnnxBlock& b) { return arg_reduction(b, "ArgMax"); }},
    {"ArgMin", 1, [](OnnxBlock& b) { return arg_reduction(b, "ArgMin"); }},
    REDUCE("ReduceL1", "Sum", Around::kAbs),
    REDUCE("ReduceL2", "Sum", Around::kSquareRoot),
    REDUCE("ReduceLogSum", "Sum", Around::kLog),
    REDUCE("ReduceLogSumExp", "Sum", Around::kLogSumExp),
    REDUCE("ReduceMax", "Max"),
    REDUCE("ReduceMean", "Mean"),
    REDUCE("ReduceMin", "Min"),
    REDUCE("ReduceProd", "Prod"),
    REDUCE("ReduceSum", "Sum"),
    REDUCE("ReduceSumSquare", "Sum", Around::kSquare),
};

#undef REDUCE

}  // namespace

std::span<const OnnxOp> onnx_reduce_ops() { return kReduceOps; }

}  // namespace emplace
