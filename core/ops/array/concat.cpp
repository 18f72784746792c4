// Concat, ConcatV2: tensors one after the other along an axis; ConcatOffset: where each of them begins.
#include <algorithm>
#include <cstdlib>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/index_text.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

// Inputs [first, last) are joined. The ranks are compared even before the axis is known.
Result<Shape> unknown_of_common_rank(const ShapeContext& c, int first, int last) {
  int rank = -1;
  for (int i = first; i < last && rank < 0; ++i) rank = c.input(i).rank_known() ? c.input(i).rank() : -1;
  if (rank < 0) return Shape::unknown();
  if (rank == 0) return invalid_argument("Can't concatenate scalars (use tf.stack instead)");
  for (int i = first; i < last; ++i) RETURN_IF_ERROR(c.with_rank(i, rank).take_status());
  return Shape::unknown_dims(rank);
}

Status join_shapes(ShapeContext& c, int first, int last, int axis_input) {
  RETURN_IF_ERROR(c.with_rank(axis_input, 0).take_status());
  ASSIGN_OR_RETURN(Shape out, unknown_of_common_rank(c, first, last));
  ASSIGN_OR_RETURN(auto axis, scalar_value(c, axis_input));
  if (axis) {
    if (*axis < -kMaxRank || *axis >= kMaxRank) return invalid_argument(cat("axis ", *axis, " is out of range"));
    int64_t min_rank = *axis < 0 ? -*axis : *axis + 1;
    Shape before, after;
    int64_t middle = 0;
    for (int i = last - 1; i >= first; --i) {
      ASSIGN_OR_RETURN(Shape in, require_rank_at_least(c.input(i), min_rank));
      ASSIGN_OR_RETURN(Shape head, subshape(in, 0, *axis));
      ASSIGN_OR_RETURN(Shape tail, *axis == -1 ? Result<Shape>(Shape{}) : subshape(in, *axis + 1));
      int64_t size = dim_or_unknown(in, *axis);
      if (i == last - 1) {
        before = head;
        after = tail;
        middle = size;
      } else {
        ASSIGN_OR_RETURN(before, ShapeContext::merge(head, before));
        ASSIGN_OR_RETURN(middle, add_dims(middle, size));
        ASSIGN_OR_RETURN(after, ShapeContext::merge(tail, after));
      }
    }
    out = concat_shapes(concat_shapes(before, Shape{middle}), after);
  }
  c.set_output(0, out);
  return ok_status();
}

Status concat_shape(ShapeContext& c) { return join_shapes(c, 1, c.num_inputs(), 0); }
Status concat_v2_shape(ShapeContext& c) { return join_shapes(c, 0, c.num_inputs() - 1, c.num_inputs() - 1); }

// The joined shape of inputs [first, last), checked.
Result<Shape> joined(const KernelContext& c, int first, int last, int64_t axis) {
  Shape out = c.input(first).shape();
  for (int i = first + 1; i < last; ++i) {
    const Shape& s = c.input(i).shape();
    bool same = s.rank() == out.rank();
    if (!same) {
      return invalid_argument(cat("ConcatOp : Ranks of all input tensors should match: shape[0] = ",
                                  c.input(first).shape().to_string(), " vs. shape[", i - first, "] = ", s.to_string()));
    }
    for (int d = 0; d < s.rank(); ++d) {
      if (d != axis && s.dim(d) != out.dim(d)) {
        return invalid_argument(cat("ConcatOp : Dimension ", d,
                                    " in both shapes must be equal: shape[0] = ", c.input(first).shape().to_string(),
                                    " vs. shape[", i - first, "] = ", s.to_string()));
      }
    }
    ASSIGN_OR_RETURN(out.dim(static_cast<int>(axis)),
                     add_dims(out.dim(static_cast<int>(axis)), s.dim(static_cast<int>(axis))));
  }
  return out;
}

Status join(KernelContext& c, int first, int last, const Tensor& axis_value) {
  if (axis_value.num_elements() != 1) {
    return invalid_argument(
        cat("axis tensor should be a scalar integer, but got shape ", axis_value.shape().to_string()));
  }
  int rank = c.input(first).shape().rank();
  int64_t axis = int_at(axis_value, 0);
  if (rank == 0) return invalid_argument("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
  if (axis < -rank || axis >= rank) {
    return invalid_argument(
        cat("ConcatOp : Expected concatenating dimensions in the range [", -rank, ", ", rank, "), but got ", axis));
  }
  if (axis < 0) axis += rank;
  ASSIGN_OR_RETURN(Shape shape, joined(c, first, last, axis));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  Tensor& out = c.output(0);
  if (out.num_elements() == 0) return ok_status();
  int64_t rows = 1;
  for (int d = 0; d < axis; ++d) rows *= shape.dim(d);
  int64_t pitch = out.num_elements() / rows, at = 0;
  for (int i = first; i < last; ++i) {
    int64_t run = c.input(i).num_elements() / rows;
    copy_rows(*c.parallel_, out.dtype(), c.input(i).raw(), run, element_at(out, at), pitch, rows, run);
    at += run;
  }
  return ok_status();
}

Status concat_cpu(KernelContext& c) { return join(c, 1, c.num_inputs(), c.input(0)); }
Status concat_v2_cpu(KernelContext& c) { return join(c, 0, c.num_inputs() - 1, c.input(c.num_inputs() - 1)); }

Status concat_offset_shape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) c.set_output(i - 1, c.input(i));
  return ok_status();
}

Status concat_offset_cpu(KernelContext& c) {
  const Tensor& axis_value = c.input(0);
  const Tensor& first = c.input(1);
  if (axis_value.shape().rank() != 0) {
    return invalid_argument(
        cat("Concat dim tensor should be a scalar integer, but got shape ", axis_value.shape().to_string()));
  }
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.input(i).shape().rank() != 1) {
      return invalid_argument(
          cat("input ", i - 1, " should be a vector, but got shape ", c.input(i).shape().to_string()));
    }
  }
  int64_t rank = first.num_elements(), axis = int_at(axis_value, 0);
  if (axis < -rank || axis >= rank) {
    return invalid_argument(cat("Concat dim is out of range: ", axis, " vs. ", rank));
  }
  if (axis < 0) axis += rank;
  int64_t offset = 0;
  for (int i = 1; i < c.num_inputs(); ++i) {
    const Tensor& shape = c.input(i);
    if (shape.num_elements() != rank) {
      return invalid_argument(
          cat("input ", i - 1, " should contain ", rank, " elements, but got ", shape.num_elements()));
    }
    for (int64_t d = 0; d < rank; ++d) {
      int64_t size = int_at(shape, d);
      if (d != axis && size != int_at(first, d)) {
        return invalid_argument(cat("All dimensions except ", axis, " must match. Input ", i - 1, " has shape [",
                                    index_text(shape, 0, rank, " "), "] and doesn't match input 0 with shape [",
                                    index_text(first, 0, rank, " "), "]."));
      }
      int64_t value = d == axis ? offset : 0;
      if (shape.dtype() == DType::kInt64) {
        c.out<int64_t>(i - 1)[d] = value;
      } else {
        c.out<int32_t>(i - 1)[d] = static_cast<int32_t>(value);
      }
    }
    if (__builtin_add_overflow(offset, int_at(shape, axis), &offset)) return invalid_argument("Concat sizes overflow");
  }
  return ok_status();
}

// Each input's gradient is its part of dy. `axis` is where the axis stands among the inputs, `first` the first value.
Status parts_of_gradient(GradientContext& g, int axis, int first) {
  const int count = g.num_inputs() - 1;
  if (count == 1) {
    g.pass_on(0, first);
    return g.status();
  }
  std::vector<Value> values, sizes;
  for (int i = 0; i < count; ++i) values.push_back(g.input(first + i));
  Value positive = g.add("FloorMod", {g.input(axis), g.rank_of(values[0])}, {}, "mod");
  const bool known = std::all_of(values.begin(), values.end(), [&](Value v) { return g.shape(v).fully_known(); });
  Value shapes = known ? Value{} : g.add("ShapeN", values);
  for (int i = 0; i < count; ++i) {
    sizes.push_back(known ? g.shape_of(values[static_cast<size_t>(i)]) : shapes.output(static_cast<uint32_t>(i)));
  }
  std::vector<Value> inputs{positive};
  inputs.insert(inputs.end(), sizes.begin(), sizes.end());
  Value offsets = g.add("ConcatOffset", inputs);
  for (int i = 0; i < count; ++i) {
    g.set(first + i,
          g.add("Slice", {g.grad(0), offsets.output(static_cast<uint32_t>(i)), sizes[static_cast<size_t>(i)]}));
  }
  return g.status();
}
Status concat_gradient(GradientContext& g) { return parts_of_gradient(g, 0, 1); }
Status concat_v2_gradient(GradientContext& g) { return parts_of_gradient(g, g.num_inputs() - 1, 0); }

}  // namespace

OpDef concat_op() {
  return OpDef("Concat")
      .doc("Joins tensors along an axis (the first input).")
      .traits({.partial_value = PartialValue::kConcatAfterAxis})
      .shape(concat_shape)
      .cpu(kMovable, stateless<concat_cpu>)
      .value_inputs({0})
      .gradient(concat_gradient);
}
OpDef concat_v2_op() {
  return OpDef("ConcatV2")
      .doc("Joins tensors along an axis (the last input).")
      .traits({.partial_value = PartialValue::kConcatBeforeAxis})
      .shape(concat_v2_shape)
      .cpu(kMovable, stateless<concat_v2_cpu>)
      .value_inputs({-1})
      .gradient(concat_v2_gradient);
}
OpDef concat_offset_op() {
  return OpDef("ConcatOffset")
      .doc("Where each of the shapes begins in their concatenation.")
      .shape(concat_offset_shape)
      .cpu(stateless<concat_offset_cpu>)
      .not_differentiable();
}

}  // namespace emplace
