// LeakyRelu and LeakyReluGrad: a slope of alpha where the argument is not positive, also for alpha > 1 or < 0.
#include "core/op/gradient_context.h"
#include "core/ops/formulas/activation.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

/// With alpha as the element type holds it.
template <class F>
Result<std::unique_ptr<Kernel>> with_alpha(const KernelInit& init) {
  const DType type = init.input_types[0];
  auto params = std::make_shared<F>(F{init.attrs.number("alpha")});
  if (type == DType::kHalf) params->alpha = static_cast<float>(half(params->alpha));
  if (type == DType::kBFloat16) params->alpha = static_cast<float>(bfloat16(params->alpha));
  return make_elementwise(init, elementwise_code<F, float, double>(type, std::move(params)));
}

Status leaky_relu_gradient(GradientContext& g) {
  g.set(0, g.add("LeakyReluGrad", {g.grad(0), g.input(0)}, g.copy_attrs({"alpha"})));
  return g.status();
}

// Linear in the incoming gradient; features only choose the slope.
Status leaky_relu_grad_gradient(GradientContext& g) {
  g.set(0, g.add("LeakyReluGrad", {g.grad(0), g.input(1)}, g.copy_attrs({"alpha"})));
  g.set(1, g.zeros_like(g.input(1)));
  return g.status();
}

}  // namespace

OpDef leaky_relu_op() {
  return unary_op("LeakyRelu", "x where x > 0, else alpha * x.")
      .cpu(kFloating, with_alpha<fn::LeakyRelu>)
      .gradient(leaky_relu_gradient);
}
OpDef leaky_relu_grad_op() {
  return OpDef("LeakyReluGrad")
      .doc("The gradient where features > 0, else alpha times it.")
      .shape(shape_merged)
      .may_overwrite_input()
      .cpu(kFloating, with_alpha<fn::LeakyReluGrad>)
      .gradient(leaky_relu_grad_gradient)
      .sample("gradients=f32[2,3] uniform(-2,2); features=f32[2,3] uniform(-2,2)");
}

}  // namespace emplace
