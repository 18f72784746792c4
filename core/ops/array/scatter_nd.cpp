// ScatterNd, ScatterNdNonAliasingAdd, TensorScatterAdd, Sub, Max, Min and Update: slices put where tuples of indices
// say.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/nd_index.h"
#include "core/ops/kit/row_ops.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

// "Dimensions [0,1) of indices[shape=[1,1]] = [1] must match dimensions [0,1) of updates[shape=[2]] = [2]: ..."
struct Part {
  std::string_view name;
  const Shape& whole;
  int64_t begin, end;
};

Status must_match(const Part& a, const Part& b) {
  ASSIGN_OR_RETURN(Shape x, subshape(a.whole, a.begin, a.end));
  ASSIGN_OR_RETURN(Shape y, subshape(b.whole, b.begin, b.end));
  auto merged = ShapeContext::merge(x, y);
  if (merged.ok()) return ok_status();
  auto text = [](const Part& p, const Shape& s) {
    return cat("imensions [", p.begin, ",", p.end, ") of ", p.name, "[shape=", p.whole.to_string(),
               "] = ", s.to_string());
  };
  return invalid_argument(cat("D", text(a, x), " must match d", text(b, y), ": ", merged.status().message()));
}

Status scatter_shape(ShapeContext& c, const Shape& indices, const Shape& updates, const Shape& into) {
  if (elements_or_unknown(into) == 0 && (elements_or_unknown(indices) > 0 || elements_or_unknown(updates) > 0)) {
    return invalid_argument("Indices and updates specified for empty input");
  }
  if (indices.rank_known() && updates.rank_known() && updates.rank() != 0) {
    int64_t outer = indices.rank() - 1, depth = indices.dim_from_end(1);
    if (depth >= 0) {
      RETURN_IF_ERROR(require_rank_at_least(updates, outer).take_status());
      RETURN_IF_ERROR(must_match({"indices", indices, 0, outer}, {"updates", updates, 0, outer}));
      if (into.rank_known()) {
        RETURN_IF_ERROR(must_match({"input", into, depth, into.rank()}, {"updates", updates, outer, updates.rank()}));
      }
    }
  }
  c.set_output(0, into);
  return ok_status();
}

Status scatter_nd_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape indices, c.with_rank_at_least(0, 1));
  ASSIGN_OR_RETURN(Shape updates, c.with_rank_at_least(1, 1));
  ASSIGN_OR_RETURN(Shape into, shape_from_input(c, 2));
  return scatter_shape(c, indices, updates, into);
}

Status tensor_scatter_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape into, c.with_rank_at_least(0, 1));
  ASSIGN_OR_RETURN(Shape indices, c.with_rank_at_least(1, 1));
  ASSIGN_OR_RETURN(Shape updates, c.with_rank_at_least(2, 1));
  return scatter_shape(c, indices, updates, into);
}

void or_rows(void* out, const void* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<bool*>(out)[i] |= static_cast<const bool*>(in)[i];
}
void append_rows(void* out, const void* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<std::string*>(out)[i] += static_cast<const std::string*>(in)[i];
}

// What ScatterNd does with elements that meet: numbers add, booleans or, texts join.
RowOp combine(DType t) {
  if (t == DType::kBool) return or_rows;
  return t == DType::kString ? append_rows : row_add(t);
}

// Applies `op` (null: assign) to output 0 at the tuples, in order. The output holds its start values.
Status scatter(KernelContext& c, const Tensor& indices, const Tensor& updates, RowOp op) {
  Tensor& out = c.output(0);
  ASSIGN_OR_RETURN(NdIndex index, NdIndex::of_scatter(indices, out.shape()));
  Shape wanted = index.outer;
  for (int i = index.depth; i < out.shape().rank(); ++i) wanted.add_dim(out.shape().dim(i));
  if (!(updates.shape() == wanted)) {
    return invalid_argument(cat("Outer dimensions of indices and update must match. Indices shape: ",
                                indices.shape().to_string(), ", updates shape:", updates.shape().to_string()));
  }
  if (index.depth == 0 && out.num_elements() > 0) {
    return invalid_argument(
        "Only indices.shape[-1] values between 1 and 5 are currently supported.  Requested rank: 0");
  }
  if (indices.num_elements() == 0 && updates.num_elements() == 0) return ok_status();
  if (out.num_elements() == 0 || indices.num_elements() == 0 || updates.num_elements() == 0) {
    return invalid_argument("Indices and updates specified for empty output shape");
  }
  for (int64_t t = 0; t < index.tuples; ++t) {
    int64_t at = index.offset(t);
    if (at < 0) return invalid_argument(index.out_of_range(t, "shape "));
    const void* from = element_at(updates, t * index.slice);
    if (op == nullptr) {
      copy_elements(out.dtype(), from, element_at(out, at), index.slice);
    } else {
      op(element_at(out, at), from, index.slice);
    }
  }
  return ok_status();
}

Status scatter_nd_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Shape shape, shape_of_values(c.input(2)));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  Tensor& out = c.output(0);
  fill_zeros(*c.parallel_, out);
  return scatter(c, c.input(0), c.input(1), combine(out.dtype()));
}

Status tensor_scatter(KernelContext& c, RowOp op) {
  const Tensor& start = c.input(0);
  RETURN_IF_ERROR(ensure_output(c, 0, start.shape()));
  copy_elements(*c.parallel_, start.dtype(), start.raw(), c.output(0).raw(), start.num_elements());
  return scatter(c, c.input(1), c.input(2), op);
}

Status tensor_scatter_add_cpu(KernelContext& c) { return tensor_scatter(c, row_add(c.input(0).dtype())); }
Status non_aliasing_add_cpu(KernelContext& c) { return tensor_scatter(c, combine(c.input(0).dtype())); }
Status tensor_scatter_sub_cpu(KernelContext& c) { return tensor_scatter(c, row_subtract(c.input(0).dtype())); }
Status tensor_scatter_max_cpu(KernelContext& c) { return tensor_scatter(c, row_maximum(c.input(0).dtype())); }
Status tensor_scatter_min_cpu(KernelContext& c) { return tensor_scatter(c, row_minimum(c.input(0).dtype())); }
Status tensor_scatter_update_cpu(KernelContext& c) { return tensor_scatter(c, nullptr); }

Status scatter_nd_gradient(GradientContext& g) {
  g.set(1, g.add("GatherNd", {g.grad(0), g.input(0)}));
  return g.status();
}

Status tensor_scatter_add_gradient(GradientContext& g) {
  g.set(0, g.add("Identity", {g.grad(0)}));
  g.set(2, g.add("GatherNd", {g.grad(0), g.input(1)}));
  return g.status();
}

Status tensor_scatter_sub_gradient(GradientContext& g) {
  g.set(0, g.add("Identity", {g.grad(0)}));
  g.set(2, g.neg(g.add("GatherNd", {g.grad(0), g.input(1)})));
  return g.status();
}

Status tensor_scatter_update_gradient(GradientContext& g) {
  Value updates = g.add("GatherNd", {g.grad(0), g.input(1)});
  g.set(0, g.add("TensorScatterUpdate", {g.grad(0), g.input(1), g.zeros_like(g.input(2))}));
  g.set(2, updates);
  return g.status();
}

// Those that are as large as the result share its gradient; TensorFlow's, python/ops/array_grad.py.
Status tensor_scatter_extremum_gradient(GradientContext& g) {
  const Value dy = g.grad(0), x = g.input(0), indices = g.input(1), updates = g.input(2), y = g.output(0);
  const DType type = g.type(x);
  g.wait_for(dy);
  const Value of_x = g.cast(g.add("Equal", {y, x}), type);
  const Value of_updates = g.cast(g.add("Equal", {updates, g.add("GatherNd", {y, indices})}), type);
  const Value shape = g.cast(g.shape_of(x), g.type(indices));
  const Value many = g.add("AddV2", {of_x, g.add("ScatterNd", {indices, of_updates, shape})}, {}, "add");
  const Value share = g.add("RealDiv", {dy, many}, {}, "truediv");
  g.set(0, g.mul(share, of_x));
  g.set(2, g.mul(g.add("GatherNd", {share, indices}), of_updates));
  return g.status();
}

}  // namespace

OpDef scatter_nd_op() {
  return OpDef("ScatterNd")
      .doc("Zeros of the given shape, the updates added at the index tuples.")
      .shape(scatter_nd_shape)
      .cpu(kAllData, stateless<scatter_nd_cpu>)
      .value_inputs({2})
      .gradient(scatter_nd_gradient);
}
OpDef scatter_nd_non_aliasing_add_op() {
  return OpDef("ScatterNdNonAliasingAdd")
      .doc("input + slices at tuples of indices; booleans or.")
      .shape(tensor_scatter_shape)
      .cpu(kNumbers | DTypeSet{DType::kBool}, stateless<non_aliasing_add_cpu>)
      .gradient(tensor_scatter_add_gradient);
}
OpDef tensor_scatter_add_op() {
  return OpDef("TensorScatterAdd")
      .doc("The tensor with the updates added at the index tuples.")
      .shape(tensor_scatter_shape)
      .cpu(kNumbers, stateless<tensor_scatter_add_cpu>)
      .gradient(tensor_scatter_add_gradient);
}
OpDef tensor_scatter_sub_op() {
  return OpDef("TensorScatterSub")
      .doc("The tensor with the updates subtracted at the index tuples.")
      .shape(tensor_scatter_shape)
      .cpu(kNumbers, stateless<tensor_scatter_sub_cpu>)
      .gradient(tensor_scatter_sub_gradient);
}
OpDef tensor_scatter_max_op() {
  return OpDef("TensorScatterMax")
      .doc("The tensor, but the updates where the index tuples say and they are larger.")
      .shape(tensor_scatter_shape)
      .cpu(kRealNumbers, stateless<tensor_scatter_max_cpu>)
      .gradient(tensor_scatter_extremum_gradient);
}
OpDef tensor_scatter_min_op() {
  return OpDef("TensorScatterMin")
      .doc("The tensor, but the updates where the index tuples say and they are smaller.")
      .shape(tensor_scatter_shape)
      .cpu(kRealNumbers, stateless<tensor_scatter_min_cpu>)
      .gradient(tensor_scatter_extremum_gradient);
}
OpDef tensor_scatter_update_op() {
  return OpDef("TensorScatterUpdate")
      .doc("The tensor with the updates in place of what the index tuples name; the last of several wins.")
      .shape(tensor_scatter_shape)
      .cpu(kAllData, stateless<tensor_scatter_update_cpu>)
      .gradient(tensor_scatter_update_gradient);
}

}  // namespace emplace
