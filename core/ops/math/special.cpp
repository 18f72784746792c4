// Erfinv, Ndtri, Igamma, Igammac, Betainc, Spence, Fresnel integrals, Dawsn and Expint; NextAfter.
#include <cmath>
#include <numbers>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/ops/kit/elementwise.h"
#include "core/ops/math/special_functions.h"
#include "core/ops/math/special_op.h"

namespace emplace {
namespace {

struct NextAfter {
  static constexpr double kCostNs = 5;
  template <class T>
  static constexpr bool kScalarOnly = true;
  template <class T>
  static T apply(T x, T to) {
    return std::nextafter(x, to);
  }
};

template <auto F>
OpDef gamma_op(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_broadcast)
      .may_overwrite_input()
      .cpu(kFloatDouble, elementwise<Special<F>, float, double>)
      .sample("a=f32[2,1] uniform(0.5,5); x=f32[4] uniform(0.5,8)")
      .sample("a=f32[0,3]; x=f32[3]");
}
// --- gradients: TensorFlow's, python/ops/math_grad.py

/// factor * exp(share * y^2)
Status quantile_gradient(GradientContext& g, double factor, double share) {
  return of_slope::gradient(g, [&](Value, Value y) {
    Value power = g.mul(g.add("Square", {y}), of_slope::constant(g, share));
    return g.mul(of_slope::constant(g, factor), g.add("Exp", {power}));
  });
}
Status erfinv_gradient(GradientContext& g) { return quantile_gradient(g, std::sqrt(std::numbers::pi) / 2, 1); }
Status ndtri_gradient(GradientContext& g) { return quantile_gradient(g, std::sqrt(2 * std::numbers::pi), 0.5); }

Status dawsn_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value y) {
    return of_slope::less(g, of_slope::constant(g, 1), g.mul(of_slope::constant(g, 2), g.mul(x, y)));
  });
}
Status expint_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value) { return g.add("RealDiv", {g.add("Exp", {x}), x}, {}, "truediv"); });
}
Status fresnel_gradient(GradientContext& g, std::string_view op) {
  return of_slope::gradient(g, [&](Value x, Value) {
    return g.add(op, {g.mul(of_slope::constant(g, std::numbers::pi / 2), g.add("Square", {x}))});
  });
}
Status fresnel_cos_gradient(GradientContext& g) { return fresnel_gradient(g, "Cos"); }
Status fresnel_sin_gradient(GradientContext& g) { return fresnel_gradient(g, "Sin"); }

Status spence_gradient(GradientContext& g) {
  return of_slope::gradient(g, [&](Value x, Value) {
    Value slope = g.add("RealDiv", {g.add("Log", {x}), of_slope::less(g, of_slope::constant(g, 1), x)}, {}, "truediv");
    return of_slope::where(g, x, 1, -1, slope);
  });
}
/// `sign`: 1 of the lower function, -1 of the upper one.
Status gamma_part_gradient(GradientContext& g, double sign) {
  const Value a = g.input(0), x = g.input(1);
  g.wait_for(g.grad(0));
  Value by_a = g.add("IgammaGradA", {a, x});
  Value power = g.mul(of_slope::less(g, a, of_slope::constant(g, 1)), g.add("Log", {x}));
  Value by_x = g.add("Exp", {of_slope::less(g, of_slope::less(g, power, x), g.add("Lgamma", {a}))});
  Value factor = g.mul(of_slope::constant(g, sign), g.grad(0));
  g.set_binary(g.mul(by_a, factor), g.mul(by_x, factor));
  return g.status();
}
Status igamma_gradient(GradientContext& g) { return gamma_part_gradient(g, 1); }
Status igammac_gradient(GradientContext& g) { return gamma_part_gradient(g, -1); }

// Of x alone; TensorFlow has none for a and b.
Status betainc_gradient(GradientContext& g) {
  const Value a = g.input(0), b = g.input(1), x = g.input(2), one = of_slope::constant(g, 1);
  Value log_beta = of_slope::less(g, g.add("AddV2", {g.add("Lgamma", {a}), g.add("Lgamma", {b})}, {}, "add"),
                                  g.add("Lgamma", {g.add("AddV2", {a, b}, {}, "add")}));
  Value rest = g.add("Xlogy", {of_slope::less(g, b, one), of_slope::less(g, one, x)});
  Value power = g.add("AddV2", {rest, g.add("Xlogy", {of_slope::less(g, a, one), x})}, {}, "add");
  Value slope = g.mul(g.add("Exp", {of_slope::less(g, power, log_beta)}), g.grad(0));
  Value shape = g.shape_of(x);
  Value axes = g.add("BroadcastGradientArgs", {g.shape_of(a), shape}).output(1);
  g.set(2, g.reshape(g.sum(slope, axes), shape));
  return g.status();
}

Status next_after_gradient(GradientContext& g) {
  g.set_binary(g.grad(0), g.zeros_like(g.grad(0)));
  return g.status();
}

/// Three inputs of one shape, or scalars.
Status betainc_shape(ShapeContext& c) {
  Shape out;
  for (int i = 0; i < 3; ++i) {
    const Shape& s = c.input(i);
    if (s.rank_known() && s.rank() == 0) continue;
    ASSIGN_OR_RETURN(out, out.rank_known() && out.rank() == 0 ? Result<Shape>(s) : ShapeContext::merge(out, s));
  }
  c.set_output(0, out);
  return ok_status();
}

template <class T>
Status betainc_cpu(KernelContext& c) {
  const auto value = [&](int input, int64_t i) {
    return static_cast<double>(c.in<T>(input)[c.input(input).shape().rank() == 0 ? 0 : i]);
  };
  for (int i = 0; i < 3; ++i) {
    if (c.input(i).shape().rank() > 0 && c.input(i).shape() != c.output(0).shape())
      return invalid_argument(cat("Shapes of a, b and x are inconsistent: ", c.input(0).shape().to_string(), " vs. ",
                                  c.input(1).shape().to_string(), " vs. ", c.input(2).shape().to_string()));
  }
  c.parallel_for(c.output(0).num_elements(), 200, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      c.out<T>(0)[i] = static_cast<T>(incomplete_beta_of(value(0, i), value(1, i), value(2, i)));
  });
  return ok_status();
}

}  // namespace

OpDef erfinv_op() {
  return special_op<inverse_erf_of>("Erfinv", "x with erf(x) = input.", kFloatDouble, "x=f32[2,5] uniform(-0.9,0.9)")
      .gradient(erfinv_gradient);
}
OpDef ndtri_op() {
  return special_op<normal_quantile_of>("Ndtri", "The quantile of the normal distribution.", kFloatDouble,
                                        "x=f32[2,5] uniform(0.1,0.9)")
      .gradient(ndtri_gradient);
}
OpDef spence_op() {
  return special_op<spence_of>("Spence", "Spence's integral: of -log(t) / (t - 1) from 1 to x.", kFloatDouble,
                               "x=f32[2,5] uniform(0.2,3)")
      .gradient(spence_gradient);
}
OpDef fresnel_cos_op() {
  return special_op<fresnel_cos_of>("FresnelCos", "The integral of cos(pi t^2 / 2) from 0 to x.", kFloatDouble,
                                    "x=f32[2,5] uniform(-3,3)")
      .gradient(fresnel_cos_gradient);
}
OpDef fresnel_sin_op() {
  return special_op<fresnel_sin_of>("FresnelSin", "The integral of sin(pi t^2 / 2) from 0 to x.", kFloatDouble,
                                    "x=f32[2,5] uniform(-3,3)")
      .gradient(fresnel_sin_gradient);
}
OpDef dawsn_op() {
  return special_op<dawson_of>("Dawsn", "Dawson's integral: exp(-x^2) times that of exp(t^2) from 0 to x.",
                               kFloatDouble, "x=f32[2,5] uniform(-3,3)")
      .gradient(dawsn_gradient);
}
OpDef expint_op() {
  return special_op<exponential_integral_of>("Expint", "The exponential integral Ei.", kFloatDouble,
                                             "x=f32[2,5] uniform(0.2,4)")
      .gradient(expint_gradient);
}
OpDef igamma_op() {
  return gamma_op<lower_gamma_of>("Igamma", "The lower regularized incomplete gamma function P(a, x).")
      .gradient(igamma_gradient);
}
OpDef igammac_op() {
  return gamma_op<upper_gamma_of>("Igammac", "The upper regularized incomplete gamma function Q(a, x).")
      .gradient(igammac_gradient);
}
OpDef igamma_grad_a_op() { return gamma_op<lower_gamma_slope_of>("IgammaGradA", "The derivative of Igamma by a."); }
OpDef random_gamma_grad_op() {
  return OpDef("RandomGammaGrad")
      .doc("The derivative of a number of a gamma distribution by the distribution's alpha.")
      .shape(shape_broadcast)
      .may_overwrite_input()
      .cpu(kFloatDouble, elementwise<Special<gamma_sample_slope_of>, float, double>);
}
OpDef next_after_op() {
  return binary_op("NextAfter", "The number beside x1 in the direction of x2.")
      .cpu(kFloatDouble, elementwise<NextAfter, float, double>)
      .gradient(next_after_gradient);
}
OpDef betainc_op() {
  return OpDef("Betainc")
      .doc("The regularized incomplete beta function I_x(a, b).")
      .shape(betainc_shape)
      .cpu<float>(stateless<betainc_cpu<float>>)
      .cpu<double>(stateless<betainc_cpu<double>>)
      .gradient(betainc_gradient);
}

}  // namespace emplace
