// InvertPermutation and ReverseV2.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

Status vector_unchanged(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape vector, c.with_rank(0, 1));
  c.set_output(0, vector);
  return ok_status();
}

template <class T>
Status invert_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  if (in.shape().rank() != 1) return invalid_argument("invert_permutation expects a 1D vector.");
  int64_t n = in.num_elements();
  T* out = c.out<T>(0);
  std::fill_n(out, n, T(-1));
  for (int64_t i = 0; i < n; ++i) {
    T d = c.in<T>(0)[i];
    if (d < 0 || d >= n) return invalid_argument(cat(d, " is not between 0 and ", n));
    if (out[d] != -1) return invalid_argument(cat(d, " is duplicated in the input."));
    out[d] = static_cast<T>(i);
  }
  return ok_status();
}

// Which of `rank` dimensions are named, each once.
Result<ScratchVector<bool>> named_axes(const Tensor& axes, int rank) {
  ScratchVector<bool> named(static_cast<size_t>(rank));
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    int64_t axis = int_at(axes, i);
    if (axis < -rank || axis >= rank) {
      return invalid_argument(cat("'axis'[", i, "] = ", axis, " is out of valid range [0, ", rank - 1));
    }
    if (axis < 0) axis += rank;
    if (named[static_cast<size_t>(axis)]) return invalid_argument(cat("axis ", axis, " specified more than once."));
    named[static_cast<size_t>(axis)] = true;
  }
  return named;
}

Status reverse_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  const Shape& in = c.input(0);
  if (in.rank_known() && c.input_value(1) != nullptr) {
    RETURN_IF_ERROR(named_axes(*c.input_value(1), in.rank()).take_status());
  }
  c.set_output(0, in);
  return ok_status();
}

Status reverse_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  ASSIGN_OR_RETURN(auto reversed, named_axes(c.input(1), in.shape().rank()));
  RETURN_IF_ERROR(ensure_output(c, 0, in.shape()));
  if (in.num_elements() == 0) return ok_status();
  ScratchVector<int64_t> strides = row_major_strides(in.shape());
  StridedCopy copy;
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t size = in.shape().dim(static_cast<int>(i));
    copy.add(size, reversed[i] ? -strides[i] : strides[i], strides[i]);
    if (reversed[i]) copy.in_offset += (size - 1) * strides[i];
  }
  copy.run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

Status reverse_gradient(GradientContext& g) {
  g.set(0, g.add("ReverseV2", {g.grad(0), g.input(1)}));
  return g.status();
}

}  // namespace

OpDef invert_permutation_op() {
  return OpDef("InvertPermutation")
      .doc("y[x[i]] = i.")
      .shape(vector_unchanged)
      .cpu<int32_t>(stateless<invert_cpu<int32_t>>)
      .cpu<int64_t>(stateless<invert_cpu<int64_t>>)
      .not_differentiable();
}
OpDef reverse_v2_op() {
  return OpDef("ReverseV2")
      .doc("The tensor backwards along the named axes.")
      .shape(reverse_shape)
      .cpu(kMovable, stateless<reverse_cpu>)
      .value_inputs({1})
      .gradient(reverse_gradient);
}

}  // namespace emplace
