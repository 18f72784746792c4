#include "core/op/gradient_context.h"

namespace emplace {

void GradientContext::set_binary(Value gx, Value gy) {
  auto [x, y] = reduce_to(input(0), input(1), gx, gy);
  set(0, x);
  set(1, y);
}

GradientContext::AttrList GradientContext::copy_attrs(std::initializer_list<std::string_view> names) const {
  AttrList out;
  for (std::string_view name : names) {
    if (const AttrValue* found = attrs().find(name)) out.emplace_back(name, *found);
  }
  return out;
}

Status identity_gradient(GradientContext& g) {
  g.pass_on(0, 0);
  return g.status();
}

Status reshape_gradient(GradientContext& g) {
  g.set(0, g.reshape(g.grad(0), g.shape_of(g.input(0))));
  return g.status();
}

}  // namespace emplace
