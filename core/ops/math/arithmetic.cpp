// Add, AddV2, Sub, Mul, SquaredDifference, Maximum, Minimum: two operands, broadcast as NumPy does.
#include "core/ops/formulas/arithmetic.h"
#include "core/op/gradient_context.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

template <class F>
constexpr KernelMaker kReal = elementwise<F, float, double, int32_t, int64_t, uint64_t>;
template <class F>
constexpr KernelMaker kAny = elementwise<F, float, double, int32_t, int64_t, uint64_t, complex64, complex128>;

Status add_gradient(GradientContext& g) {
  g.set_binary(g.grad(0), g.grad(0));
  return g.status();
}

Status sub_gradient(GradientContext& g) {
  g.set_binary(g.grad(0), g.neg(g.grad(0)));
  return g.status();
}

// TensorFlow's order of factors, which hangs on what is known.
Status mul_gradient(GradientContext& g) {
  Value dy = g.grad(0), x = g.input(0), y = g.input(1);
  Value gx = g.add("Mul", {dy, y});
  const Shape& shape = g.shape(dy);
  const bool same = shape.fully_known() && shape == g.shape(x) && shape == g.shape(y) &&
                    (g.type(dy) == DType::kFloat || g.type(dy) == DType::kInt32);
  g.set_binary(gx, same ? g.add("Mul", {dy, x}) : g.add("Mul", {x, dy}));
  return g.status();
}

Status squared_difference_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value twice = g.add("Mul", {g.scalar(g.type(g.grad(0)), 2, "scalar"), g.grad(0)});
  Value gx = g.mul(twice, g.add("Sub", {g.input(0), g.input(1)}, {}, "sub"));
  g.wait_for({});
  g.set_binary(gx, g.neg(gx));
  return g.status();
}

struct Add : fn::Add {
  static constexpr ElementStep kStep = ElementStep::kAdd;
};
struct Sub : fn::Sub {
  static constexpr ElementStep kStep = ElementStep::kSubtract;
};
struct Mul : fn::Mul {
  static constexpr ElementStep kStep = ElementStep::kMultiply;
};

// A tie goes to x.
Status choose_gradient(GradientContext& g, std::string_view is_x) {
  Value zeros = g.zeros_like(g.grad(0));
  Value mask = g.add(is_x, {g.input(0), g.input(1)});
  Value gx = g.add("SelectV2", {mask, g.grad(0), zeros});
  g.set_binary(gx, g.add("SelectV2", {mask, zeros, g.grad(0)}));
  return g.status();
}
Status maximum_gradient(GradientContext& g) { return choose_gradient(g, "GreaterEqual"); }
Status minimum_gradient(GradientContext& g) { return choose_gradient(g, "LessEqual"); }

}  // namespace

OpDef add_op() {
  return binary_op("Add", "x + y, element by element; strings are joined.")
      .traits({.of_sums = OfSums::kAdds})
      .cpu(kNumbers.without(DTypeSet{DType::kUInt16, DType::kUInt32, DType::kUInt64}), kAny<Add>)
      .cpu<std::string>(elementwise<fn::Add, std::string>)
      .gradient(add_gradient);
}
OpDef add_v2_op() {
  return binary_op("AddV2", "x + y, element by element.")
      .traits({.of_sums = OfSums::kAdds})
      .cpu(kNumbers, kAny<Add>)
      .gradient(add_gradient);
}
OpDef sub_op() {
  return binary_op("Sub", "x - y, element by element.")
      .traits({.of_sums = OfSums::kAdds})
      .cpu(kNumbers, kAny<Sub>)
      .gradient(sub_gradient);
}
OpDef mul_op() {
  return binary_op("Mul", "x * y, element by element.")
      .traits({.of_sums = OfSums::kMultiplies})
      .cpu(kNumbers, kAny<Mul>)
      .gradient(mul_gradient);
}
OpDef squared_difference_op() {
  return binary_op("SquaredDifference", "conj(x - y) * (x - y), element by element.")
      .cpu(kFloatDouble | kComplexes | DTypeSet{DType::kInt32, DType::kInt64},
           elementwise<fn::SquaredDifference, float, double, int32_t, int64_t, complex64, complex128>)
      .cpu(kHalves, elementwise<fn::SquaredDifference, half, bfloat16>)
      .gradient(squared_difference_gradient);
}
OpDef maximum_op() {
  return binary_op("Maximum", "The larger of x and y; NaN if either is.")
      .cpu(kRealNumbers, kReal<fn::Maximum>)
      .gradient(maximum_gradient);
}
OpDef minimum_op() {
  return binary_op("Minimum", "The smaller of x and y; NaN if either is.")
      .cpu(kRealNumbers, kReal<fn::Minimum>)
      .gradient(minimum_gradient);
}

}  // namespace emplace
