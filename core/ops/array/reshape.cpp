// Reshape: the same elements under another shape.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

// A product of known sizes and the place of the one that is not.
struct Sizes {
  int64_t known = 1;
  int unknown_at = -1;
  bool several_unknown = false;
};

Result<Sizes> sizes_of(const Shape& s) {
  Sizes out;
  out.several_unknown = !s.rank_known();
  if (out.several_unknown) return out;
  if (elements_or_unknown(s) == 0) return Sizes{0, -1, false};
  for (int i = 0; i < s.rank(); ++i) {
    if (s.dim(i) >= 0) {
      ASSIGN_OR_RETURN(out.known, multiply_dims(out.known, s.dim(i)));
    } else {
      if (out.unknown_at >= 0) out.several_unknown = true;
      out.unknown_at = i;
    }
  }
  return out;
}

Status reshape_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 1));
  if (!out.rank_known()) return ok_status();
  const Shape& in = c.input(0);
  ASSIGN_OR_RETURN(Sizes from, sizes_of(in));
  ASSIGN_OR_RETURN(Sizes to, sizes_of(out));
  if (!from.several_unknown && !to.several_unknown) {
    bool in_known = from.unknown_at < 0, out_known = to.unknown_at < 0;
    if (in_known && out_known) {
      if (from.known != to.known) {
        return invalid_argument(cat("Cannot reshape a tensor with ", from.known, " elements to shape ", out.to_string(),
                                    " (", to.known, " elements)"));
      }
    } else if (in_known && to.known > 0) {
      ASSIGN_OR_RETURN(out.dim(to.unknown_at), divide_dim_evenly(from.known, to.known));
    } else if (out_known && from.known > 0) {
      RETURN_IF_ERROR(divide_dim_evenly(to.known, from.known).take_status());
    }
  }
  c.set_output(0, out);
  return ok_status();
}

// In a shape with a 0, the -1 is what the other sizes leave of the input's sizes other than 0, rounded down.
Result<int64_t> missing_size(const Shape& in, const Shape& wanted) {
  bool has_zero = false, empty = false;
  int64_t product = 1, elements = 1;
  for (int64_t d : wanted.dims()) has_zero = has_zero || d == 0;
  for (int64_t d : wanted.dims()) {
    if (d > 0 && __builtin_mul_overflow(product, d, &product)) return invalid_argument("Shape is too large");
  }
  for (int64_t d : in.dims()) {
    empty = empty || d == 0;
    if ((d > 0 || !has_zero) && __builtin_mul_overflow(elements, d, &elements))
      return invalid_argument("Shape is too large");
  }
  if (elements % product != 0 && !(has_zero && empty)) {
    return invalid_argument(cat("Input to reshape is a tensor with ", elements,
                                " values, but the requested shape requires a multiple of ", product));
  }
  return elements / product;
}

Result<Shape> final_shape(const Tensor& x, const Tensor& sizes) {
  if (sizes.shape().rank() != 1)
    return invalid_argument(cat("sizes input must be 1-D, not ", sizes.shape().to_string()));
  if (sizes.num_elements() > kMaxRank) return invalid_argument(cat("too many dimensions: ", sizes.num_elements()));
  Shape shape;
  int unknown_at = -1;
  for (int i = 0; i < sizes.num_elements(); ++i) {
    int64_t size = int_at(sizes, i);
    if (size == -1) {
      if (unknown_at >= 0) {
        return invalid_argument(cat("Only one input size may be -1, not both ", unknown_at, " and ", i));
      }
      unknown_at = i;
    } else if (size < 0) {
      return invalid_argument(cat("Size ", i, " must be non-negative, not ", size));
    }
    shape.add_dim(size);
  }
  if (unknown_at >= 0) {
    ASSIGN_OR_RETURN(shape.dim(unknown_at), missing_size(x.shape(), shape));
  }
  auto elements = shape.checked_num_elements();
  if (!elements || *elements != x.num_elements()) {
    return invalid_argument(cat("Input to reshape is a tensor with ", x.num_elements(),
                                " values, but the requested shape has ", elements.value_or(-1)));
  }
  return shape;
}

Status reshape_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(Shape shape, final_shape(c.input(0), c.input(1)));
  c.forward_output(0, c.input(0).reshaped(shape));
  return ok_status();
}

// One dimension that is not known before the run can be left to Reshape.
Status reshape_back(GradientContext& g) {
  const Shape& shape = g.shape(g.input(0));
  if (!shape.rank_known() || shape.fully_known()) return reshape_gradient(g);
  auto dims = shape.dims();
  if (std::count(dims.begin(), dims.end(), -1) != 1 || std::count(dims.begin(), dims.end(), 0) > 0)
    return reshape_gradient(g);
  g.set(0, g.reshape(g.grad(0), std::vector<int64_t>(dims.begin(), dims.end())));
  return g.status();
}

}  // namespace

OpDef reshape_op() {
  return OpDef("Reshape")
      .doc("The same elements under the given shape; one size may be -1: whatever is left.")
      .traits({.of_sums = OfSums::kKeeps})
      .shape(reshape_shape)
      .cpu(kMovable | DTypeSet{DType::kVariant}, stateless<reshape_cpu>)
      .value_inputs({1})
      .forwards_input()
      .gradient(reshape_back);
}

}  // namespace emplace
