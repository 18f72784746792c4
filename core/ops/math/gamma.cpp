// Lgamma, Digamma, Polygamma and Zeta.
#include "core/op/gradient_context.h"
#include "core/ops/kit/elementwise.h"
#include "core/ops/math/gamma_functions.h"

namespace emplace {
namespace {

struct Lgamma {
  static constexpr double kCostNs = 20;
  template <class T>
  static constexpr bool kScalarOnly = true;
  template <class T>
  static T apply(T x) {
    return static_cast<T>(lgamma_of(static_cast<double>(x)));
  }
};
struct Digamma : Lgamma {
  template <class T>
  static T apply(T x) {
    return static_cast<T>(digamma_of(static_cast<double>(x)));
  }
};
struct Zeta {
  static constexpr double kCostNs = 200;
  template <class T>
  static constexpr bool kScalarOnly = true;
  template <class T>
  static T apply(T x, T q) {
    return static_cast<T>(zeta_of(static_cast<double>(x), static_cast<double>(q)));
  }
};
struct Polygamma : Zeta {
  template <class T>
  static T apply(T n, T x) {
    return static_cast<T>(polygamma_of(static_cast<double>(n), static_cast<double>(x)));
  }
};

constexpr DTypeSet kOfOne = kFloatDouble | DTypeSet{DType::kHalf};

Status lgamma_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.grad(0), g.add("Digamma", {g.input(0)})));
  return g.status();
}

Status digamma_gradient(GradientContext& g) {
  g.wait_for(g.grad(0));
  Value one = g.scalar(g.type(g.input(0)), 1);
  g.set(0, g.mul(g.grad(0), g.add("Polygamma", {one, g.input(0)})));
  return g.status();
}

// Only the second operand of these two has a gradient, `partial` times what arrived; the first's TensorFlow has none
// for.
template <class F>
Status second_gradient(GradientContext& g, const F& partial) {
  Value first_shape = g.shape_of(g.input(0)), shape = g.shape_of(g.input(1));
  Value axes = g.add("BroadcastGradientArgs", {first_shape, shape}).output(1);
  g.wait_for(g.grad(0));
  Value next = g.add("AddV2", {g.input(0), g.scalar(g.type(g.input(0)), 1, "add/y")}, {}, "add");
  g.set(1, g.reshape(g.sum(g.mul(partial(next), g.grad(0)), axes), shape));
  return g.status();
}

Status polygamma_gradient(GradientContext& g) {
  return second_gradient(g, [&](Value next) { return g.add("Polygamma", {next, g.input(1)}); });
}

Status zeta_gradient(GradientContext& g) {
  return second_gradient(g, [&](Value next) { return g.mul(g.neg(g.input(0)), g.add("Zeta", {next, g.input(1)})); });
}

}  // namespace

OpDef lgamma_op() {
  return unary_op("Lgamma", "The logarithm of the absolute value of gamma(x).")
      .cpu(kOfOne, elementwise<Lgamma, float, double>)
      .gradient(lgamma_gradient);
}
OpDef digamma_op() {
  return unary_op("Digamma", "The derivative of the logarithm of gamma(x).")
      .cpu(kOfOne, elementwise<Digamma, float, double>)
      .gradient(digamma_gradient);
}
OpDef polygamma_op() {
  return OpDef("Polygamma")
      .doc("The a-th derivative of Digamma at x, for a = 0, 1, ...")
      .shape(shape_broadcast)
      .may_overwrite_input()
      .cpu(kFloatDouble, elementwise<Polygamma, float, double>)
      .gradient(polygamma_gradient)
      .sample("a=[1,2,3]; x=f32[2,3] uniform(0.5,3)")
      .sample("a=1; x=f32[0,3]");
}
OpDef zeta_op() {
  return binary_op("Zeta", "Hurwitz' zeta function: the sum of (q + n)^-x over n = 0, 1, ...")
      .cpu(kFloatDouble, elementwise<Zeta, float, double>)
      .gradient(zeta_gradient);
}

}  // namespace emplace
