// Bessel functions: of the first kind (J) and the second (Y), modified ones (I, K), these also times exp(|x|) or
// exp(x).
#include <cmath>
#include <limits>
#include <numbers>

#include "core/ops/math/special_functions.h"
#include "core/ops/math/special_op.h"

namespace emplace {
namespace {

constexpr DTypeSet kBesselTypes = kFloatDouble | DTypeSet{DType::kHalf};
constexpr double kWithoutEnd = std::numeric_limits<double>::infinity();

double bessel_i0_of(double x) { return bessel_i0e_of(x) * std::exp(std::fabs(x)); }
double bessel_i1_of(double x) { return bessel_i1e_of(x) * std::exp(std::fabs(x)); }

/// NaN at infinity, as TensorFlow's.
double bessel_j0_of(double x) { return std::isinf(x) ? x - x : j0(x); }
double bessel_j1_of(double x) { return std::isinf(x) ? x - x : j1(x); }
/// -inf at 0 and below.
double bessel_y0_of(double x) { return x <= 0 ? -kWithoutEnd : std::isinf(x) ? x - x : y0(x); }
double bessel_y1_of(double x) { return x <= 0 ? -kWithoutEnd : std::isinf(x) ? x - x : y1(x); }

/// exp(x) K_n(x), n = 0 or 1: the integral of exp(-x (cosh(t) - 1)) cosh(n t) over t > 0, whose sum over equal steps
/// has all digits. inf at 0 and below.
double bessel_ke(double x, int n) {
  constexpr double kEuler = 0.57721566490153286061;
  if (!(x > 0)) return x != x ? x : kWithoutEnd;
  if (std::isinf(x)) return 0;
  if (x < 1e-9) return n == 0 ? -std::log(x / 2) - kEuler : 1 / x;
  const double last = std::acosh(1 + 45 / x);  // what comes behind is lost in rounding
  const int steps = std::max(40, static_cast<int>(last / 0.15));
  const double step = last / steps;
  double sum = 0.5;
  for (int k = 1; k <= steps; ++k) {
    const double t = k * step, half_sinh = std::sinh(t / 2);
    sum += std::exp(-2 * x * half_sinh * half_sinh) * (n == 0 ? 1 : std::cosh(t));
  }
  return sum * step;
}
double bessel_k0e_of(double x) { return bessel_ke(x, 0); }
double bessel_k1e_of(double x) { return bessel_ke(x, 1); }
double bessel_k0_of(double x) { return x > 0 ? bessel_ke(x, 0) * std::exp(-x) : bessel_ke(x, 0); }
double bessel_k1_of(double x) { return x > 0 ? bessel_ke(x, 1) * std::exp(-x) : bessel_ke(x, 1); }

/// TensorFlow's Y1(0) is NaN in floats, -inf in doubles.
struct BesselY1 : Special<bessel_y1_of> {
  template <class T>
  static T apply(T x) {
    if (std::is_same_v<T, float> && x == T(0)) return std::numeric_limits<T>::quiet_NaN();
    return Special<bessel_y1_of>::apply(x);
  }
};

template <auto F>
OpDef bessel_op(std::string_view name, std::string_view doc, std::string_view sample = "x=f32[2,5] uniform(0.2,6)") {
  return special_op<F>(name, doc, kBesselTypes, sample);
}

// --- gradients: TensorFlow's, python/ops/math_grad.py

Status bessel_i0_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value) { return g.add("BesselI1", {x}); });
}
Status bessel_i0e_gradient(GradientContext& g) {
  return of_slope::gradient(
      g, [&](Value x, Value y) { return of_slope::less(g, g.add("BesselI1e", {x}), g.mul(g.add("Sign", {x}), y)); });
}
Status bessel_i1_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value y) {
    return of_slope::where(g, x, 0, 1,
                           of_slope::less(g, g.add("BesselI0", {x}), g.add("RealDiv", {y, x}, {}, "truediv")));
  });
}
Status bessel_i1e_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value y) {
    Value both = g.add("AddV2", {g.add("Sign", {x}), g.add("Reciprocal", {x})}, {}, "add");
    return of_slope::where(g, x, 0, 0.5, of_slope::less(g, g.add("BesselI0e", {x}), g.mul(y, both)));
  });
}

Value quotient_of(GradientContext& g, Value a, Value b) { return g.add("RealDiv", {a, b}, {}, "div"); }

/// -op(x)
Status minus_other_gradient(GradientContext& g, std::string_view op) {
  return of_slope::gradient(g, [&](Value x, Value) { return g.neg(g.add(op, {x})); });
}
Status bessel_j0_gradient(GradientContext& g) { return minus_other_gradient(g, "BesselJ1"); }
Status bessel_k0_gradient(GradientContext& g) { return minus_other_gradient(g, "BesselK1"); }
Status bessel_y0_gradient(GradientContext& g) { return minus_other_gradient(g, "BesselY1"); }
Status bessel_k0e_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value y) { return of_slope::less(g, y, g.add("BesselK1e", {x})); });
}
Status bessel_j1_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value y) {
    return of_slope::where(g, x, 0, 0.5, of_slope::less(g, g.add("BesselJ0", {x}), quotient_of(g, y, x)));
  });
}
Status bessel_y1_gradient(GradientContext& g) {
  return of_slope::gradient(
      g, [&](Value x, Value y) { return of_slope::less(g, g.add("BesselY0", {x}), quotient_of(g, y, x)); });
}
Status bessel_k1_gradient(GradientContext& g) {
  return of_slope::gradient(
      g, [&](Value x, Value y) { return of_slope::less(g, g.neg(g.add("BesselK0", {x})), quotient_of(g, y, x)); });
}
Status bessel_k1e_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value y) {
    Value factor = of_slope::less(g, of_slope::constant(g, 1), g.add("Reciprocal", {x}));
    return of_slope::less(g, g.mul(y, factor), g.add("BesselK0e", {x}));
  });
}

}  // namespace

OpDef bessel_i0_op() {
  return special_op<bessel_i0_of>("BesselI0", "The modified Bessel function of the first kind of order 0.",
                                  kBesselTypes, "x=f32[2,5] uniform(-3,3)")
      .gradient(bessel_i0_gradient);
}
OpDef bessel_i1_op() {
  return special_op<bessel_i1_of>("BesselI1", "The modified Bessel function of the first kind of order 1.",
                                  kBesselTypes, "x=f32[2,5] uniform(-3,3)")
      .gradient(bessel_i1_gradient);
}
OpDef bessel_i0e_op() {
  return special_op<bessel_i0e_of>("BesselI0e", "BesselI0(x) exp(-|x|).", kBesselTypes, "x=f32[2,5] uniform(-3,3)")
      .gradient(bessel_i0e_gradient);
}
OpDef bessel_i1e_op() {
  return special_op<bessel_i1e_of>("BesselI1e", "BesselI1(x) exp(-|x|).", kBesselTypes, "x=f32[2,5] uniform(-3,3)")
      .gradient(bessel_i1e_gradient);
}

OpDef bessel_j0_op() {
  return bessel_op<bessel_j0_of>("BesselJ0", "The Bessel function of the first kind of order 0.")
      .gradient(bessel_j0_gradient);
}
OpDef bessel_j1_op() {
  return bessel_op<bessel_j1_of>("BesselJ1", "The Bessel function of the first kind of order 1.")
      .gradient(bessel_j1_gradient);
}
OpDef bessel_k0_op() {
  return bessel_op<bessel_k0_of>("BesselK0", "The modified Bessel function of the second kind of order 0.")
      .gradient(bessel_k0_gradient);
}
OpDef bessel_k0e_op() {
  return bessel_op<bessel_k0e_of>("BesselK0e", "BesselK0(x) exp(x).").gradient(bessel_k0e_gradient);
}
OpDef bessel_k1_op() {
  return bessel_op<bessel_k1_of>("BesselK1", "The modified Bessel function of the second kind of order 1.")
      .gradient(bessel_k1_gradient);
}
OpDef bessel_k1e_op() {
  return bessel_op<bessel_k1e_of>("BesselK1e", "BesselK1(x) exp(x).").gradient(bessel_k1e_gradient);
}
OpDef bessel_y0_op() {
  return bessel_op<bessel_y0_of>("BesselY0", "The Bessel function of the second kind of order 0.")
      .gradient(bessel_y0_gradient);
}
OpDef bessel_y1_op() {
  return OpDef("BesselY1")
      .doc("The Bessel function of the second kind of order 1.")
      .shape(shape_unchanged)
      .may_overwrite_input()
      .cpu(kBesselTypes, elementwise<BesselY1, float, double>)
      .sample("x=f32[2,5] uniform(0.2,6)")
      .sample("x=f32[0,3]")
      .gradient(bessel_y1_gradient);
}

}  // namespace emplace
