// Split and SplitV: a tensor cut into pieces along an axis, equal ones or of given sizes.
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/moved_variants.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status split_shape(ShapeContext& c) {
  Shape out = c.input(1);
  ASSIGN_OR_RETURN(int64_t axis, axis_from_scalar(c, 0, out.rank_known() ? out.rank() : -1));
  if (axis < 0) {
    if (out.rank_known()) out = Shape::unknown_dims(out.rank());
  } else if (out.rank_known()) {
    auto piece = divide_dim_evenly(out.dim(static_cast<int>(axis)), c.num_outputs());
    if (!piece.ok()) {
      return invalid_argument(piece.status().message() +
                              "\n\tNumber of ways to split should evenly divide the split dimension");
    }
    out.dim(static_cast<int>(axis)) = *piece;
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return ok_status();
}

// SplitV's sizes are int8 in some graphs.
ScratchVector<int64_t> piece_sizes(const Tensor& t) {
  ScratchVector<int64_t> sizes;
  for (int64_t i = 0; i < t.num_elements(); ++i)
    sizes.push_back(t.dtype() == DType::kInt8 ? t.data<int8_t>()[i] : int_at(t, i));
  return sizes;
}

// Fills in a piece of size -1 from what the others leave of `total` (-1: unknown, then it stays).
Status complete_pieces(ScratchVector<int64_t>& pieces, int64_t total) {
  int64_t sum = 0, open = -1;
  const ScratchVector<int64_t> given = pieces;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i] == -1) {
      if (open >= 0) return invalid_argument("size_splits can only have one -1");
      open = static_cast<int64_t>(i);
    } else if (__builtin_add_overflow(sum, pieces[i], &sum)) {
      return invalid_argument("the sum of size_splits overflows");
    }
  }
  if (open >= 0 && total >= 0 && __builtin_sub_overflow(total, sum, &pieces[static_cast<size_t>(open)])) {
    return invalid_argument("the sum of size_splits overflows");
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    bool unresolved = static_cast<int64_t>(i) == open && total < 0;
    if (pieces[i] < 0 && !unresolved) {
      return invalid_argument(cat("Split size at index ", i, " must be >= 0. Got: ", pieces[i]));
    }
  }
  if (total >= 0 && open < 0 && sum != total) {
    std::string list;
    for (size_t i = 0; i < given.size(); ++i) append(list, i ? "," : "", given[i]);
    return invalid_argument(cat("can't split axis of size ", total, " into pieces of size [", list, "]"));
  }
  return ok_status();
}

Status split_v_shape(ShapeContext& c) {
  const Shape& in = c.input(0);
  ASSIGN_OR_RETURN(int64_t axis, axis_from_scalar(c, 2, in.rank_known() ? in.rank() : -1));
  if (!in.rank_known()) return ok_status();
  if (in.rank() == 0) return invalid_argument("Can't split scalars");
  const Tensor* sizes = c.input_value(1);
  if (c.num_outputs() == 1 && sizes == nullptr) {  // one piece is the whole
    c.set_output(0, in);
    return ok_status();
  }
  ScratchVector<int64_t> pieces(static_cast<size_t>(c.num_outputs()), -1);
  if (sizes != nullptr && axis >= 0) {
    pieces = piece_sizes(*sizes);
    if (static_cast<int>(pieces.size()) != c.num_outputs()) {
      return invalid_argument("Length of size_splits should be equal to num_outputs");
    }
    RETURN_IF_ERROR(complete_pieces(pieces, in.dim(static_cast<int>(axis))));
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    Shape out = axis >= 0 ? in : Shape::unknown_dims(in.rank());
    if (axis >= 0) out.dim(static_cast<int>(axis)) = pieces[static_cast<size_t>(i)];
    c.set_output(i, out);
  }
  return ok_status();
}

// Cuts `in` along `axis`. REQUIRES: the pieces add up to the axis.
Status cut(KernelContext& c, const Tensor& in, int axis, const ScratchVector<int64_t>& pieces) {
  const Shape& shape = in.shape();
  int64_t rows = 1;
  for (int d = 0; d < axis; ++d) rows *= shape.dim(d);
  int64_t size = shape.dim(axis);
  int64_t inner = in.num_elements() == 0 ? 0 : in.num_elements() / rows / size;
  int64_t at = 0;
  for (int i = 0; i < c.num_outputs(); ++i) {
    int64_t piece = pieces[static_cast<size_t>(i)];
    Shape out = shape;
    out.dim(axis) = piece;
    RETURN_IF_ERROR(ensure_output(c, i, out));
    copy_rows(*c.parallel_, in.dtype(), element_at(in, at * inner), size * inner, c.output(i).raw(), piece * inner,
              inner == 0 ? 0 : rows, piece * inner);
    at += piece;
  }
  return ok_status();
}

Result<int> checked_axis(const Tensor& axis, int rank) {
  if (axis.num_elements() != 1)
    return invalid_argument("split_dim must be a scalar but has rank " + std::to_string(axis.shape().rank()));
  int64_t value = int_at(axis, 0);
  if (value < -rank || value >= rank) {
    return invalid_argument(cat("-input rank(-", rank, ") <= split_dim < input rank (", rank, "), but got ", value));
  }
  return static_cast<int>(value < 0 ? value + rank : value);
}

Status split_cpu(KernelContext& c) {
  const Tensor& in = c.input(1);
  ASSIGN_OR_RETURN(int axis, checked_axis(c.input(0), in.shape().rank()));
  int64_t size = in.shape().dim(axis);
  if (size % c.num_outputs() != 0) {
    return invalid_argument(cat("Number of ways to split should evenly divide the split dimension, but got split_dim ",
                                axis, " (size = ", size, ") and num_split ", c.num_outputs()));
  }
  return cut(c, in, axis, ScratchVector<int64_t>(static_cast<size_t>(c.num_outputs()), size / c.num_outputs()));
}

Status split_v_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  ASSIGN_OR_RETURN(int axis, checked_axis(c.input(2), in.shape().rank()));
  ScratchVector<int64_t> pieces = piece_sizes(c.input(1));
  if (static_cast<int>(pieces.size()) != c.num_outputs()) {
    return invalid_argument("Length of size_splits should be equal to num_outputs");
  }
  if (pieces.size() == 1 && pieces[0] == -1) {  // TensorFlow does not look for what is left here
    return invalid_argument(cat("If there is only one output, it must have the same size as the input. Input size: ",
                                in.shape().dim(axis), " output size: -1"));
  }
  RETURN_IF_ERROR(complete_pieces(pieces, in.shape().dim(axis)));
  return cut(c, in, axis, pieces);
}

Value joined_gradients(GradientContext& g, Value axis) {
  std::vector<Value> parts;
  for (int64_t i = 0; i < g.attrs().integer("num_split"); ++i) parts.push_back(g.grad(static_cast<int>(i)));
  if (parts.size() == 1) return g.add("Identity", parts, {}, "concat");
  parts.push_back(axis);
  return g.add("ConcatV2", parts, {}, "concat");
}

Status split_gradient(GradientContext& g) {
  g.set(1, joined_gradients(g, g.input(0)));
  return g.status();
}

Status split_v_gradient(GradientContext& g) {
  g.set(0, joined_gradients(g, g.input(2)));
  return g.status();
}

}  // namespace

OpDef split_op() {
  return OpDef("Split")
      .doc("Cuts a tensor into equal pieces along an axis.")
      .shape(split_shape)
      .cpu(kMovable, stateless<split_cpu>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<stateless<split_cpu>>)
      .value_inputs({0})
      .gradient(split_gradient);
}
OpDef split_v_op() {
  return OpDef("SplitV")
      .doc("Cuts a tensor into pieces of the given sizes along an axis; one size may be -1.")
      .shape(split_v_shape)
      .cpu(kMovable, stateless<split_v_cpu>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<stateless<split_v_cpu>>)
      .value_inputs({1, 2})
      .gradient(split_v_gradient);
}

}  // namespace emplace
