// BroadcastArgs: the shape that two shapes are broadcast to.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status broadcast_args_shape(ShapeContext& c) {
  const int64_t a = dim_or_unknown(c.input(0), 0), b = dim_or_unknown(c.input(1), 0);
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(c.with_rank(i, 1).take_status());
  c.set_output(0, Shape{a < 0 || b < 0 ? -1 : std::max(a, b)});
  return ok_status();
}

Status broadcast_args(KernelContext& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  const int64_t rank = std::max(a.num_elements(), b.num_elements());
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{rank}));
  return with_index(c.output(0).dtype(), [&]<class T>(T) -> Status {
    for (int64_t d = 0; d < rank; ++d) {
      const auto size = [&](const Tensor& t) {
        const int64_t at = d - (rank - t.num_elements());
        return at < 0 ? T(1) : t.data<T>()[at];
      };
      const T x = size(a), y = size(b);
      if (x != y && x != 1 && y != 1)
        return invalid_argument(cat("incompatible shapes for broadcasting: ", x, " and ", y, " in dimension ", d));
      c.out<T>(0)[d] = x == 1 ? y : x;
    }
    return ok_status();
  });
}

}  // namespace

OpDef broadcast_args_op() {
  return OpDef("BroadcastArgs")
      .doc("The shape that two shapes are broadcast to.")
      .shape(broadcast_args_shape)
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, stateless<broadcast_args>);
}

}  // namespace emplace
