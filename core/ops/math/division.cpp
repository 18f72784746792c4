// Div, RealDiv, DivNoNan, MulNoNan, FloorDiv, FloorMod, Mod, TruncateDiv, TruncateMod, Xdivy. Integer division by zero
// is an error; the smallest integer divided by -1 wraps.
#include <algorithm>

#include "core/op/gradient_context.h"
#include "core/ops/formulas/division.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

template <class T>
bool any_zero(const Tensor& t) {
  auto all = t.flat<T>();
  return std::find(all.begin(), all.end(), T(0)) != all.end();
}

/// F, which divides integers; of no effect for the other types.
template <class F>
struct Division : F {
  static constexpr double kCostNs = 1;
  template <class T>
  static constexpr bool kScalarOnly = std::is_integral_v<T>;

  static Status check(const KernelContext& c) {
    const Tensor& divisor = c.input(1);
    if (!kIntegers.has(divisor.dtype())) return ok_status();
    const bool zero = with_element(divisor.dtype(), [&]<class E>(const E&) {
      if constexpr (std::is_integral_v<E>)
        return any_zero<E>(divisor);
      else
        return false;
    });
    return zero ? invalid_argument("Integer division by zero") : ok_status();
  }
};
template <class F>
struct Remainder : Division<F> {
  template <class T>
  static constexpr bool kScalarOnly = true;
};

template <class F>
constexpr KernelMaker kInteger = elementwise<F, int32_t, int64_t, uint64_t>;
template <class F>
constexpr KernelMaker kFloatingOnly = elementwise<F, float, double, half, bfloat16>;
template <class F>
constexpr KernelMaker kWithComplex = elementwise<F, float, double, complex64, complex128>;
template <class F>
constexpr KernelMaker kRemainder = elementwise<F, float, double, int32_t, int64_t, uint64_t>;

constexpr DTypeSet kFloatingAndComplex = kFloating | kComplexes;
constexpr DTypeSet kModTypes = kFloatDouble | DTypeSet{DType::kInt32, DType::kInt64};

// dx = dy / y, dy = dy * (-x / y / y), with the quotients that `op` makes.
Status quotient_gradient(GradientContext& g, std::string_view op, std::string_view name) {
  Value y = g.input(1);
  Value minus = g.neg(g.input(0));
  Value gx = g.add(op, {g.grad(0), y}, {}, name);
  Value quotient = g.add(op, {minus, y}, {}, name);
  g.set_binary(gx, g.mul(g.grad(0), g.add(op, {quotient, y}, {}, name)));
  return g.status();
}
Status real_div_gradient(GradientContext& g) { return quotient_gradient(g, "RealDiv", "RealDiv"); }
Status div_gradient(GradientContext& g) { return quotient_gradient(g, "RealDiv", "truediv"); }
Status div_no_nan_gradient(GradientContext& g) { return quotient_gradient(g, "DivNoNan", "div_no_nan"); }

Status mul_no_nan_gradient(GradientContext& g) {
  Value gx = g.add("MulNoNan", {g.grad(0), g.input(1)});
  g.set_binary(gx, g.add("MulNoNan", {g.input(0), g.grad(0)}));
  return g.status();
}

Status xdivy_gradient(GradientContext& g) {
  Value x = g.input(0), y = g.input(1);
  const DType type = g.type(x);
  g.wait_for(g.grad(0));
  Value not_zero = g.cast(g.add("NotEqual", {x, g.scalar(type, 0, "Cast/x")}), type);
  Value partial_x = g.add("Xdivy", {not_zero, y});
  Value square = g.add("Pow", {y, g.scalar(type, 2, "pow/y")}, {}, "pow");
  Value partial_y = g.add("Xdivy", {g.neg(x), square});
  Value gx = g.mul(partial_x, g.grad(0));
  g.set_binary(gx, g.mul(partial_y, g.grad(0)));
  return g.status();
}

// x - y * floor(x / y): the quotient counts as constant.
Status floor_mod_gradient(GradientContext& g) {
  Value quotient = g.add("FloorDiv", {g.input(0), g.input(1)});
  g.set_binary(g.grad(0), g.mul(g.grad(0), g.neg(quotient)));
  return g.status();
}

}  // namespace

OpDef div_op() {
  return binary_op("Div", "x / y; integers are cut towards zero.")
      .traits({.of_sums = OfSums::kDivides})
      .cpu(kFloatingAndComplex, kWithComplex<fn::RealDiv>)
      .cpu(kIntegers, kInteger<Division<fn::IntegerDiv>>)
      .gradient(div_gradient);
}
OpDef real_div_op() {
  return binary_op("RealDiv", "x / y.")
      .traits({.of_sums = OfSums::kDivides})
      .cpu(kFloatingAndComplex, kWithComplex<fn::RealDiv>)
      .gradient(real_div_gradient);
}
OpDef div_no_nan_op() {
  return binary_op("DivNoNan", "x / y, but 0 where y is 0.")
      .traits({.of_sums = OfSums::kDivides})
      .cpu(kFloatingAndComplex, kWithComplex<fn::DivNoNan>)
      .gradient(div_no_nan_gradient);
}
OpDef mul_no_nan_op() {
  return binary_op("MulNoNan", "x * y, but 0 where y is 0.")
      .cpu(kFloatingAndComplex, kWithComplex<fn::MulNoNan>)
      .gradient(mul_no_nan_gradient);
}
OpDef xdivy_op() {
  return binary_op("Xdivy", "x / y, but 0 where x is 0.")
      .cpu(kFloatingAndComplex, kWithComplex<fn::Xdivy>)
      .gradient(xdivy_gradient);
}
OpDef floor_div_op() {
  return binary_op("FloorDiv", "x / y, cut towards minus infinity.")
      .cpu(kFloating, kFloatingOnly<fn::FloorDiv>)
      .cpu(kIntegers, kInteger<Division<fn::IntegerFloorDiv>>)
      .not_differentiable();
}
OpDef truncate_div_op() {
  return binary_op("TruncateDiv", "x / y, cut towards zero.")
      .cpu(kFloating, kFloatingOnly<fn::TruncateDiv>)
      .cpu(kIntegers, kInteger<Division<fn::IntegerDiv>>)
      .not_differentiable();
}
OpDef floor_mod_op() {
  return binary_op("FloorMod", "The remainder of x / y with the sign of y.")
      .cpu(kRealNumbers, kRemainder<Remainder<fn::FloorMod>>)
      .gradient(floor_mod_gradient);
}
OpDef mod_op() {
  return binary_op("Mod", "The remainder of x / y with the sign of x.")
      .cpu(kModTypes, kRemainder<Remainder<fn::TruncateMod>>);
}
OpDef truncate_mod_op() {
  return binary_op("TruncateMod", "The remainder of x / y with the sign of x.")
      .cpu(kModTypes, kRemainder<Remainder<fn::TruncateMod>>);
}

}  // namespace emplace
