// BroadcastGradientArgs: over which axes the gradients of two broadcast operands are summed.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status gradient_args_shape(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) {
    RETURN_IF_ERROR(c.with_rank(i, 1).take_status());
    c.set_output(i, Shape{-1});
  }
  return ok_status();
}

ScratchVector<int64_t> sizes_in(const Tensor& t) {
  ScratchVector<int64_t> sizes;
  for (int64_t i = 0; i < t.num_elements(); ++i) sizes.push_back(int_at(t, i));
  return sizes;
}

Status give(KernelContext& c, int i, const ScratchVector<int64_t>& axes) {
  RETURN_IF_ERROR(c.allocate_output(i, Shape{static_cast<int64_t>(axes.size())}));
  with_index(c.output(i).dtype(), [&]<class T>(T) { std::copy(axes.begin(), axes.end(), c.out<T>(i)); });
  return ok_status();
}

Status gradient_args(KernelContext& c) {
  const auto a = sizes_in(c.input(0)), b = sizes_in(c.input(1));
  ScratchVector<int64_t> sum_a, sum_b;
  if (a == b) {  // nothing is broadcast, not even ones
    RETURN_IF_ERROR(give(c, 0, sum_a));
    return give(c, 1, sum_b);
  }
  const size_t rank = std::max(a.size(), b.size());
  for (size_t d = 0; d < rank; ++d) {
    const size_t from_end = rank - d;
    const bool in_a = from_end <= a.size(), in_b = from_end <= b.size();
    const int64_t x = in_a ? a[a.size() - from_end] : 1, y = in_b ? b[b.size() - from_end] : 1;
    if (x != y && x != 1 && y != 1) {
      auto text = [](const ScratchVector<int64_t>& dims) { return Shape(dims).to_string(); };
      return invalid_argument(cat("Incompatible shapes: ", text(a), " vs. ", text(b)));
    }
    const int64_t axis = static_cast<int64_t>(d);
    if (x == 1) sum_a.push_back(axis);
    if (y == 1) sum_b.push_back(axis);
  }
  RETURN_IF_ERROR(give(c, 0, sum_a));
  return give(c, 1, sum_b);
}

}  // namespace

OpDef broadcast_gradient_args_op() {
  return OpDef("BroadcastGradientArgs")
      .doc("The axes to sum the gradients of two broadcast operands over.")
      .shape(gradient_args_shape)
      .provides_outputs()
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, stateless<gradient_args>)
      .sample("s0=[2,3]; s1=[3]")
      .not_differentiable();
}

}  // namespace emplace
