// Bitcast: the same bytes as elements of another type.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

// Elements that become smaller add a last dimension, elements that become larger take it.
Result<Shape> bitcast_shape_of(Shape shape, DType from, DType to) {
  auto from_size = static_cast<int64_t>(dtype_size(from)), to_size = static_cast<int64_t>(dtype_size(to));
  if (!shape.rank_known() || from_size == to_size || from_size == 0 || to_size == 0) return shape;
  if (from_size > to_size) {
    if (shape.rank() >= kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
    shape.add_dim(from_size / to_size);
    return shape;
  }
  int64_t ratio = to_size / from_size;
  if (shape.rank() == 0 || (shape.dim_from_end(1) >= 0 && shape.dim_from_end(1) != ratio)) {
    return invalid_argument(cat("Cannot bitcast from ", dtype_tf_name(from), " to ", dtype_tf_name(to),
                                ": the last dimension of ", shape.to_string(), " is not ", ratio));
  }
  return Shape(shape.dims().first(static_cast<size_t>(shape.rank()) - 1));
}

Status bitcast_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, bitcast_shape_of(c.input(0), c.input_type(0), c.output_type(0)));
  c.set_output(0, out);
  return ok_status();
}

Status bitcast_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  ASSIGN_OR_RETURN(Shape shape, bitcast_shape_of(in.shape(), in.dtype(), c.output(0).dtype()));
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  copy_elements(*c.parallel_, DType::kUInt8, in.raw(), c.output(0).raw(), static_cast<int64_t>(in.size_bytes()));
  return ok_status();
}

}  // namespace

OpDef bitcast_op() {
  return OpDef("Bitcast")
      .doc("The same bytes as elements of another type; a change of size adds or takes the last dimension.")
      .shape(bitcast_shape)
      .cpu(kNumbers | DTypeSet{DType::kQInt8, DType::kQUInt8, DType::kQInt16, DType::kQUInt16, DType::kQInt32},
           stateless<bitcast_cpu>)
      .sample("input=f32[2,3] uniform(-2,2); type=int32")
      .sample("input=i32[4,2]; type=int64");
}

}  // namespace emplace
