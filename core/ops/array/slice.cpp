// Slice: a box out of a tensor, given by where it begins and its sizes.
#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

// Sizes that the input cannot give stay open, so that it is the kernel that refuses them: the node may never run.
bool fits(int64_t begin, int64_t size, int64_t dim) { return begin >= 0 && size <= dim && begin <= dim - size; }

Status slice_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape begin_shape, c.with_rank(1, 1));
  ASSIGN_OR_RETURN(Shape size_shape, c.with_rank(2, 1));
  ASSIGN_OR_RETURN(Shape vector, ShapeContext::merge(begin_shape, size_shape));
  Shape in = c.input(0);
  if (vector.dim(0) >= 0) {
    ASSIGN_OR_RETURN(in, require_rank(in, vector.dim(0)));
  }
  ASSIGN_OR_RETURN(Shape size, shape_from_input(c, 2));
  const Tensor* begin = c.input_value(1);
  const Tensor* wanted = c.input_value(2);
  if (wanted != nullptr) {
    ASSIGN_OR_RETURN(in, require_rank(in, wanted->num_elements()));
    for (int i = 0; i < size.rank(); ++i) {
      int64_t at = begin != nullptr ? int_at(*begin, i) : -1;
      int64_t& dim = size.dim(i);
      bool known = begin != nullptr && in.dim(i) >= 0;
      if (int_at(*wanted, i) == -1) {
        dim = known && fits(at, 0, in.dim(i)) ? in.dim(i) - at : -1;
        if (at == 0) dim = in.dim(i);
      } else if (known && !fits(at, dim, in.dim(i))) {
        dim = -1;
      }
    }
    c.set_output(0, size);
  } else if (size.rank_known()) {
    c.set_output(0, size);
  } else if (in.rank_known()) {
    c.set_output(0, Shape::unknown_dims(in.rank()));
  }
  return ok_status();
}

Status slice_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  const Shape& shape = in.shape();
  int rank = shape.rank();
  if (c.input(1).shape().rank() != 1 || c.input(2).shape().rank() != 1 || c.input(1).num_elements() != rank ||
      c.input(2).num_elements() != rank) {
    return invalid_argument(cat("Expected begin and size arguments to be 1-D tensors of size ", rank,
                                ", but got shapes ", c.input(1).shape().to_string(), " and ",
                                c.input(2).shape().to_string(), " instead."));
  }
  ScratchVector<int64_t> strides = row_major_strides(shape);
  StridedCopy copy;
  Shape out;
  for (int i = 0; i < rank; ++i) {
    int64_t begin = int_at(c.input(1), i), size = int_at(c.input(2), i), dim = shape.dim(i);
    if (begin < 0 || begin > dim) {
      return invalid_argument(cat("Expected begin[", i, "] in [0, ", dim, "], but got ", begin));
    }
    if (size == -1) size = dim - begin;
    if (size < 0 || size > dim - begin) {
      return invalid_argument(cat("Expected size[", i, "] in [0, ", dim - begin, "], but got ", size));
    }
    out.add_dim(size);
    if (in.num_elements() > 0) copy.in_offset += begin * strides[static_cast<size_t>(i)];
  }
  RETURN_IF_ERROR(ensure_output(c, 0, out));
  if (c.output(0).num_elements() == 0) return ok_status();
  ScratchVector<int64_t> out_strides = row_major_strides(out);
  for (size_t i = 0; i < strides.size(); ++i) copy.add(out.dim(static_cast<int>(i)), strides[i], out_strides[i]);
  copy.run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

// dy in a border of zeros.
Status slice_gradient(GradientContext& g) {
  Value x = g.input(0), begin = g.input(1);
  const DType type = g.type(begin);
  Value rank = g.rank_of(x);
  Value size = g.shape_of(g.output(0), type);
  Value column = g.pack({rank, g.index(1, "stack/1")});
  Value before = g.reshape(begin, column);
  Value left = g.add("Sub", {g.add("Sub", {g.shape_of(x, type), size}, {}, "sub"), begin}, {}, "sub");
  Value paddings = g.add("ConcatV2", {before, g.reshape(left, column), g.index(1, "concat/axis")}, {}, "concat");
  g.set(0, g.add("Pad", {g.grad(0), paddings}));
  return g.status();
}

}  // namespace

OpDef slice_op() {
  return OpDef("Slice")
      .doc("The box of the given sizes at the given place; a size of -1 reaches to the end.")
      .shape(slice_shape)
      .cpu(kMovable, stateless<slice_cpu>)
      .value_inputs({1, 2})
      .gradient(slice_gradient);
}

}  // namespace emplace
