// Select and SelectV2: elements of one tensor or of another, as a condition says.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

template <class E>
EMPLACE_INLINE void select_body(const void* const* inputs, const int64_t* strides, void* out, int64_t n) {
  const bool* condition = static_cast<const bool*>(inputs[0]);
  const E* a = static_cast<const E*>(inputs[1]);
  const E* b = static_cast<const E*>(inputs[2]);
  E* y = static_cast<E*>(out);
  const int64_t sa = strides[1], sb = strides[2];
  if (strides[0] == 0) {
    const E* from = *condition ? a : b;
    const int64_t step = *condition ? sa : sb;
    for (int64_t i = 0; i < n; ++i) y[i] = from[i * step];
  } else if (sa && sb) {
    for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? a[i] : b[i];
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? a[i * sa] : b[i * sb];
  }
}
template <class E>
void select_base(const void* const* in, const int64_t* s, void* out, int64_t n, const void*) {
  select_body<E>(in, s, out, n);
}
template <class E>
EMPLACE_TARGET_V3 void select_v3(const void* const* in, const int64_t* s, void* out, int64_t n, const void*) {
  select_body<E>(in, s, out, n);
}

ElementwiseCode select_code(DType type) {
  ElementwiseCode code;
  code.function = with_element(
      type, []<class E>(const E&) { return for_isa<Tile::Function>(select_base<E>, select_v3<E>, select_v3<E>); });
  code.computes_in = type;
  return code;
}

/// Select: a condition of rank 1 chooses whole rows.
Status condition_by_rows(const KernelContext& c, std::span<Shape> inputs) {
  const Shape& data = c.input(1).shape();
  if (inputs[0].rank() != 1) return ok_status();
  for (int d = 1; d < data.rank(); ++d) inputs[0].add_dim(1);
  return ok_status();
}

Result<std::unique_ptr<Kernel>> select(const KernelInit& init) {
  ElementwiseCode code = select_code(init.input_types[1]);
  code.adapt_shapes = condition_by_rows;
  return make_elementwise(init, std::move(code));
}
Result<std::unique_ptr<Kernel>> select_v2(const KernelInit& init) {
  return make_elementwise(init, select_code(init.input_types[1]));
}

Status select_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape data, ShapeContext::merge(c.input(1), c.input(2)));
  const Shape& condition = c.input(0);
  if (condition.rank_known() && data.rank_known() && condition.rank() > 0) {
    if (condition.rank() == 1 && data.rank() > 0) {
      ASSIGN_OR_RETURN([[maybe_unused]] Shape rows, ShapeContext::merge(condition, Shape{data.dim(0)}));
    } else {
      ASSIGN_OR_RETURN(data, ShapeContext::merge(data, condition));
    }
  }
  c.set_output(0, std::move(data));
  return ok_status();
}

Status select_v2_shape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) {
    if (!c.input(i).rank_known()) return shape_unknown(c);
  }
  ASSIGN_OR_RETURN(Shape data, broadcast_shapes(c.input(1), c.input(2)));
  ASSIGN_OR_RETURN(Shape all, broadcast_shapes(c.input(0), data));
  c.set_output(0, std::move(all));
  return ok_status();
}

Status select_gradient(GradientContext& g) {
  Value zeros = g.zeros_like(g.input(1));
  g.set(1, g.add("Select", {g.input(0), g.grad(0), zeros}));
  g.set(2, g.add("Select", {g.input(0), zeros, g.grad(0)}));
  return g.status();
}

Status select_v2_gradient(GradientContext& g) {
  Value zero = g.scalar(g.type(g.grad(0)), 0, "zeros");
  Value gt = g.add("SelectV2", {g.input(0), g.grad(0), zero});
  Value ge = g.add("SelectV2", {g.input(0), zero, g.grad(0)});
  g.set(1, g.reduce_to(g.input(1), g.output(0), gt, {}).first);
  g.set(2, g.reduce_to(g.input(2), g.output(0), ge, {}).first);
  return g.status();
}

}  // namespace

OpDef select_op() {
  return OpDef("Select")
      .doc("t where the condition holds, else e; a condition of rank 1 chooses rows.")
      .shape(select_shape)
      .cpu(kAllData, select)
      .sample("condition=bool[2,3]; t=f32[2,3] uniform(-2,2); e=f32[2,3] uniform(-2,2)")
      .sample("condition=bool[2]; t=f32[2,3] uniform(-2,2); e=f32[2,3] uniform(-2,2)")
      .gradient(select_gradient);
}
OpDef select_v2_op() {
  return OpDef("SelectV2")
      .doc("t where the condition holds, else e; all three are broadcast.")
      .shape(select_v2_shape)
      .cpu(kAllData, select_v2)
      .sample("condition=bool[2,1]; t=f32[3] uniform(-2,2); e=f32[] uniform(-2,2)")
      .gradient(select_v2_gradient);
}

}  // namespace emplace
