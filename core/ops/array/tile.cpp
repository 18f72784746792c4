// Tile and BroadcastTo: a tensor repeated along its dimensions.
#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/moved_variants.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

Status tile_shape(ShapeContext& c) {
  Shape in = c.input(0);
  ASSIGN_OR_RETURN(Shape multiples, shape_from_input(c, 1));
  if (in.rank_known()) {
    ASSIGN_OR_RETURN(multiples, require_rank(multiples, in.rank()));
  }
  if (!multiples.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(in, require_rank(in, multiples.rank()));
  for (int i = 0; i < in.rank(); ++i) {
    ASSIGN_OR_RETURN(in.dim(i), multiply_dims(in.dim(i), multiples.dim(i)));
  }
  c.set_output(0, in);
  return ok_status();
}

Status tile_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  const Tensor& multiples = c.input(1);
  int rank = in.shape().rank();
  if (multiples.shape().rank() != 1 || multiples.num_elements() != rank) {
    return invalid_argument(cat("Expected multiples argument to be a vector of length ", rank, " but got length ",
                                multiples.num_elements()));
  }
  Shape out;
  for (int i = 0; i < rank; ++i) {
    int64_t times = int_at(multiples, i);
    if (times < 0) return invalid_argument(cat("Expected multiples[", i, "] >= 0, but got ", times));
    ASSIGN_OR_RETURN(int64_t size, multiply_dims(in.shape().dim(i), times));
    out.add_dim(size);
  }
  RETURN_IF_ERROR(ensure_output(c, 0, out));
  if (c.output(0).num_elements() == 0) return ok_status();
  ScratchVector<int64_t> in_strides = row_major_strides(in.shape()), out_strides = row_major_strides(out);
  StridedCopy copy;
  for (size_t i = 0; i < in_strides.size(); ++i) {
    int64_t size = in.shape().dim(static_cast<int>(i));
    copy.add(int_at(multiples, static_cast<int64_t>(i)), 0, out_strides[i] * size);
    copy.add(size, in_strides[i], out_strides[i]);
  }
  copy.run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

Status broadcast_to_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 1));
  const Shape& in = c.input(0);
  if (out.rank_known() && in.rank_known()) {
    RETURN_IF_ERROR(require_rank_at_most(in, out.rank()).take_status());
    for (int i = 1; i <= in.rank(); ++i) {
      if (in.dim_from_end(i) <= 1) continue;
      ASSIGN_OR_RETURN(out.dim(out.rank() - i), ShapeContext::merge_dim(in.dim_from_end(i), out.dim_from_end(i)));
    }
  }
  c.set_output(0, out);
  return ok_status();
}

Status broadcast_to_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  ASSIGN_OR_RETURN(Shape out, shape_of_values(c.input(1)));
  const Shape& s = in.shape();
  if (s.rank() > out.rank()) {
    return invalid_argument(
        cat("Rank of input (", s.rank(), ") must be no greater than rank of output shape (", out.rank(), ")."));
  }
  for (int i = 1; i <= s.rank(); ++i) {
    if (s.dim_from_end(i) != 1 && s.dim_from_end(i) != out.dim_from_end(i)) {
      return invalid_argument(cat("Incompatible shapes: ", s.to_string(), " vs. ", out.to_string()));
    }
  }
  RETURN_IF_ERROR(ensure_output(c, 0, out));
  if (c.output(0).num_elements() == 0) return ok_status();
  ScratchVector<int64_t> in_strides = row_major_strides(s), out_strides = row_major_strides(out);
  StridedCopy copy;
  int extra = out.rank() - s.rank();
  for (int i = 0; i < out.rank(); ++i) {
    bool repeats = i < extra || s.dim(i - extra) == 1;
    copy.add(out.dim(i), repeats ? 0 : in_strides[static_cast<size_t>(i - extra)], out_strides[static_cast<size_t>(i)]);
  }
  copy.run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

// dy as [times, size] pairs of dimensions, summed over the times.
Status tile_gradient(GradientContext& g) {
  Value shape = g.shape_of(g.input(0), g.type(g.input(1)));
  Value pairs = g.transpose(g.pack({g.input(1), shape}), g.ints({1, 0}, "transpose/perm"));
  Value split_shape = g.reshape(pairs, std::vector<int64_t>{-1});
  Value axes = g.range(g.index(0, "range/start"), g.size_of(split_shape), g.index(2, "range/delta"));
  g.set(0, g.sum(g.reshape(g.grad(0), split_shape), axes));
  return g.status();
}

Status broadcast_to_gradient(GradientContext& g) {
  Value shape = g.shape_of(g.input(0), g.type(g.input(1)));
  Value axes = g.add("BroadcastGradientArgs", {g.input(1), shape}).output(1);
  g.set(0, g.reshape(g.sum(g.grad(0), axes, true), shape));
  return g.status();
}

}  // namespace

OpDef tile_op() {
  return OpDef("Tile")
      .doc("The tensor repeated multiples[i] times along dimension i.")
      .shape(tile_shape)
      .cpu(kMovable, stateless<tile_cpu>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<stateless<tile_cpu>>)
      .value_inputs({1})
      .gradient(tile_gradient);
}
OpDef broadcast_to_op() {
  return OpDef("BroadcastTo")
      .doc("The tensor broadcast to the given shape.")
      .shape(broadcast_to_shape)
      .cpu(kMovable, stateless<broadcast_to_cpu>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<stateless<broadcast_to_cpu>>)
      .value_inputs({1})
      .gradient(broadcast_to_gradient);
}

}  // namespace emplace
