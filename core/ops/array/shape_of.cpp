// Shape, ShapeN, Size, Rank: facts about their inputs as integers.
#include <limits>

#include "core/base/cat.h"
#include "core/op/op_def.h"

namespace emplace {
namespace {

Status dims_shape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    const Shape& s = c.input(i);
    c.set_output(i, Shape{s.rank_known() ? s.rank() : -1});
  }
  return ok_status();
}

Status shape_cpu(KernelContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    const Shape& s = c.input(i).shape();
    bool wide = c.output(i).dtype() == DType::kInt64;
    for (int d = 0; d < s.rank(); ++d) {
      if (wide) {
        c.out<int64_t>(i)[d] = s.dim(d);
      } else if (s.dim(d) > std::numeric_limits<int32_t>::max()) {
        return invalid_argument(cat("Shape output type is 32-bit but dim ", d, " is ", s.dim(d)));
      } else {
        c.out<int32_t>(i)[d] = static_cast<int32_t>(s.dim(d));
      }
    }
  }
  return ok_status();
}

Status size_cpu(KernelContext& c) {
  int64_t n = c.input(0).num_elements();
  if (c.output(0).dtype() == DType::kInt64) {
    *c.out<int64_t>(0) = n;
  } else if (n > std::numeric_limits<int32_t>::max()) {
    return invalid_argument("Number of elements was larger than representable by 32-bit output type");
  } else {
    *c.out<int32_t>(0) = static_cast<int32_t>(n);
  }
  return ok_status();
}

Status rank_cpu(KernelContext& c) {
  *c.out<int32_t>(0) = c.input(0).shape().rank();
  return ok_status();
}

constexpr DTypeSet kAny = DTypeSet::from_bits(~uint64_t{0});

}  // namespace

OpDef shape_op() {
  return OpDef("Shape")
      .doc("The sizes of its input.")
      .traits({.partial_value = PartialValue::kShape, .metadata = true})
      .shape(dims_shape)
      .cpu(kAny, stateless<shape_cpu>)
      .not_differentiable();
}
OpDef shape_n_op() {
  return OpDef("ShapeN")
      .doc("The sizes of each input.")
      .traits({.partial_value = PartialValue::kShape})
      .shape(dims_shape)
      .cpu(kAny, stateless<shape_cpu>)
      .not_differentiable();
}
OpDef size_op() {
  return OpDef("Size")
      .doc("The number of elements.")
      .traits({.partial_value = PartialValue::kSize, .metadata = true})
      .shape(shape_scalar)
      .cpu(kAny, stateless<size_cpu>)
      .not_differentiable();
}
OpDef rank_op() {
  return OpDef("Rank")
      .doc("The number of dimensions.")
      .traits({.partial_value = PartialValue::kRank, .metadata = true})
      .shape(shape_scalar)
      .cpu(kAny, stateless<rank_cpu>)
      .not_differentiable();
}

}  // namespace emplace
