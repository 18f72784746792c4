/// Ops that are special functions: from a function of doubles to the op, and what their gradients are made of.
#pragma once

#include "core/op/gradient_context.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {

/// A function of one or two doubles, for all types.
template <auto F>
struct Special {
  static constexpr double kCostNs = 100;
  template <class T>
  static constexpr bool kScalarOnly = true;
  template <class T>
  static T apply(T x) requires requires {
    F(0.0);
  }
  { return static_cast<T>(F(static_cast<double>(x))); }
  template <class T>
  static T apply(T a, T x) requires requires {
    F(0.0, 0.0);
  }
  { return static_cast<T>(F(static_cast<double>(a), static_cast<double>(x))); }
};

template <auto F>
OpDef special_op(std::string_view name, std::string_view doc, DTypeSet types, std::string_view sample) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_unchanged)
      .may_overwrite_input()
      .cpu(types, elementwise<Special<F>, float, double>)
      .sample(sample)
      .sample("x=f32[0,3]");
}

/// Gradients that are the arriving one times a slope, made of input and output.
namespace of_slope {

template <class F>
Status gradient(GradientContext& g, const F& slope) {
  g.wait_for(g.grad(0));
  g.set(0, g.mul(g.grad(0), slope(g.input(0), g.output(0))));
  return g.status();
}
inline Value constant(GradientContext& g, double number) { return g.scalar(g.type(g.input(0)), number); }
inline Value less(GradientContext& g, Value a, Value b) { return g.add("Sub", {a, b}, {}, "sub"); }
inline Value where(GradientContext& g, Value x, double number, double there, Value elsewhere) {
  return g.add("SelectV2", {g.add("Equal", {x, constant(g, number)}), constant(g, there), elsewhere});
}

}  // namespace of_slope
}  // namespace emplace
