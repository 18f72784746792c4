// DynamicStitch, ParallelDynamicStitch: slices put where their index says.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

// Inputs are N index tensors, then N tensors of slices, whose shapes start with those of their indices.
Status stitch_shape(ShapeContext& c) {
  int n = c.num_inputs() / 2;
  Shape slice = Shape::unknown();
  int64_t rows = 0;
  bool rows_known = true;
  for (int i = 0; i < n; ++i) {
    const Tensor* indices = c.input_value(i);
    rows_known &= indices != nullptr;
    for (int64_t k = 0; indices && k < indices->num_elements(); ++k) rows = std::max(rows, int_at(*indices, k) + 1);
    const Shape &index_shape = c.input(i), &data = c.input(n + i);
    if (!index_shape.rank_known()) continue;
    ASSIGN_OR_RETURN(Shape prefix, subshape(data, 0, index_shape.rank()));
    RETURN_IF_ERROR(ShapeContext::merge(index_shape, prefix).take_status());
    ASSIGN_OR_RETURN(Shape rest, subshape(data, index_shape.rank()));
    ASSIGN_OR_RETURN(slice, ShapeContext::merge(slice, rest));
  }
  if (slice.rank_known() && slice.rank() >= kMaxRank)
    return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  c.set_output(0, concat_shapes(Shape{rows_known ? rows : -1}, slice));
  return ok_status();
}

Status stitch_cpu(KernelContext& c) {
  int n = c.num_inputs() / 2;
  int64_t rows = 0;
  Shape slice;
  for (int i = 0; i < n; ++i) {
    const Tensor &indices = c.input(i), &data = c.input(n + i);
    const Shape &s = indices.shape(), &d = data.shape();
    if (s.rank() > d.rank() || !std::equal(s.dims().begin(), s.dims().end(), d.dims().begin())) {
      return invalid_argument(cat("data[", i, "].shape = ", d.to_string(), " does not start with indices[", i,
                                  "].shape = ", s.to_string()));
    }
    Shape rest(d.dims().subspan(static_cast<size_t>(s.rank())));
    if (i > 0 && !(rest == slice)) {
      return invalid_argument(cat("Need data[0].shape[", c.input(0).shape().rank(), ":] = data[", i, "].shape[",
                                  s.rank(), ":], got data[0].shape = ", c.input(n).shape().to_string(), ", data[", i,
                                  "].shape = ", d.to_string()));
    }
    slice = rest;
    for (int64_t k = 0; k < indices.num_elements(); ++k) {
      int64_t at = int_at(indices, k);
      if (at < 0) return invalid_argument(cat("indices[", k, "] is out of range"));
      rows = std::max(rows, at + 1);
    }
  }
  RETURN_IF_ERROR(ensure_output(c, 0, concat_shapes(Shape{rows}, slice)));
  Tensor& out = c.output(0);
  fill_zeros(*c.parallel_, out);  // rows that no index names
  if (out.num_elements() == 0) return ok_status();
  int64_t row = out.num_elements() / rows;
  for (int i = 0; i < n; ++i) {
    for (int64_t k = 0; k < c.input(i).num_elements(); ++k) {
      copy_elements(*c.parallel_, out.dtype(), element_at(c.input(n + i), k * row),
                    element_at(out, int_at(c.input(i), k) * row), row);
    }
  }
  return ok_status();
}

// A row that a later index overwrote gets the gradient all the same, as in TensorFlow.
Status stitch_gradient(GradientContext& g) {
  const int n = g.num_inputs() / 2;
  for (int i = 0; i < n; ++i) g.set(n + i, g.gather(g.grad(0), g.cast(g.input(i), DType::kInt32)));
  return g.status();
}

OpDef stitching(std::string_view name) {
  return OpDef(name)
      .doc("merged[indices[m][i]] = data[m][i]; later ones win.")
      .shape(stitch_shape)
      .cpu(kAllData | DTypeSet{DType::kQInt8, DType::kQUInt8, DType::kQInt32}, stateless<stitch_cpu>)
      .gradient(stitch_gradient)
      .sample("indices=[0,2]; indices=[1]; data=f32[2,3] uniform(-2,2); data=f32[1,3] uniform(-2,2)");
}

}  // namespace

OpDef dynamic_stitch_op() { return stitching("DynamicStitch"); }
OpDef parallel_dynamic_stitch_op() { return stitching("ParallelDynamicStitch"); }

}  // namespace emplace
