// Transpose and ConjugateTranspose: dimensions in another order.
#include <complex>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

Status transpose_shape(ShapeContext& c) {
  Shape in = c.input(0);
  const Tensor* perm = c.input_value(1);
  int64_t perm_elements = elements_or_unknown(c.input(1));
  if (!in.rank_known() && perm_elements < 0) return ok_status();
  int64_t rank = in.rank_known() ? in.rank() : perm_elements;
  if (!in.rank_known() && rank < 2) return ok_status();  // one entry may also stand for a scalar
  ASSIGN_OR_RETURN(in, require_rank(in, rank));
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  RETURN_IF_ERROR(require_dim(perm_elements, rank).take_status());
  Shape out = Shape::unknown_dims(static_cast<int>(rank));
  if (perm != nullptr) {
    ScratchVector<bool> seen(static_cast<size_t>(rank));
    for (int i = 0; i < rank; ++i) {
      int64_t from = int_at(*perm, i);
      if (from >= rank || from < -rank) {
        return invalid_argument(cat("perm dim ", from, " is out of range of input rank ", rank));
      }
      if (from < 0) from += rank;
      // Repeated entries are for the kernel to refuse; a product of them is not worth allocating.
      bool repeated = seen[static_cast<size_t>(from)];
      seen[static_cast<size_t>(from)] = true;
      out.dim(i) = repeated ? -1 : in.dim(static_cast<int>(from));
    }
  }
  c.set_output(0, out);
  return ok_status();
}

Result<ScratchVector<int>> checked_permutation(const Tensor& perm, int rank) {
  if (perm.shape().rank() != 1) {
    return invalid_argument(cat("perm must be rank 1, got shape ", perm.shape().to_string()));
  }
  if (perm.num_elements() != rank) {
    return invalid_argument(
        cat("transpose expects a vector of size ", rank, ". But input(1) is a vector of size ", perm.num_elements()));
  }
  ScratchVector<int> order;
  ScratchVector<bool> seen(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    int64_t d = int_at(perm, i);
    if (d < 0) d += rank;
    if (d < 0 || d >= rank) return invalid_argument(cat(d, " is out of range [0 .. ", rank, ")"));
    order.push_back(static_cast<int>(d));
    seen[static_cast<size_t>(order.back())] = true;
  }
  for (int i = 0; i < rank; ++i) {
    if (seen[static_cast<size_t>(i)]) continue;
    std::string list;
    for (int k = 0; k < rank; ++k) append(list, k ? "," : "", order[static_cast<size_t>(k)]);
    return invalid_argument(cat(i, " is missing from {", list, "}."));
  }
  return order;
}

Status transpose_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  ASSIGN_OR_RETURN(auto order, checked_permutation(c.input(1), in.shape().rank()));
  Shape out;
  for (int d : order) out.add_dim(in.shape().dim(d));
  RETURN_IF_ERROR(ensure_output(c, 0, out));
  if (in.num_elements() == 0) return ok_status();
  ScratchVector<int64_t> in_strides = row_major_strides(in.shape()), out_strides = row_major_strides(out);
  StridedCopy copy;
  for (size_t i = 0; i < order.size(); ++i) {
    copy.add(out.dim(static_cast<int>(i)), in_strides[static_cast<size_t>(order[i])], out_strides[i]);
  }
  copy.run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

template <class T>
Status conjugate_transpose_cpu(KernelContext& c) {
  RETURN_IF_ERROR(transpose_cpu(c));
  T* parts = static_cast<T*>(c.output(0).raw());
  for (int64_t i = 0; i < c.output(0).num_elements(); ++i) parts[2 * i + 1] = -parts[2 * i + 1];
  return ok_status();
}

Status transpose_gradient(GradientContext& g) {
  g.set(0, g.transpose(g.grad(0), g.add("InvertPermutation", {g.input(1)})));
  return g.status();
}

Status conjugate_transpose_gradient(GradientContext& g) {
  g.set(0, g.add("ConjugateTranspose", {g.grad(0), g.add("InvertPermutation", {g.input(1)})}));
  return g.status();
}

}  // namespace

OpDef transpose_op() {
  return OpDef("Transpose")
      .doc("Dimension i of the result is dimension perm[i] of x.")
      .traits({.permutes = true})
      .shape(transpose_shape)
      .cpu(kMovable, stateless<transpose_cpu>)
      .value_inputs({1})
      .gradient(transpose_gradient);
}
OpDef conjugate_transpose_op() {
  return OpDef("ConjugateTranspose")
      .doc("Transpose of the complex conjugates.")
      .shape(transpose_shape)
      .cpu<std::complex<float>>(stateless<conjugate_transpose_cpu<float>>)
      .cpu<std::complex<double>>(stateless<conjugate_transpose_cpu<double>>)
      .cpu(kMovable.without(kComplexes), stateless<transpose_cpu>)
      .value_inputs({1})
      .gradient(conjugate_transpose_gradient);
}

}  // namespace emplace
