// NthElement: of each row, the element that would be n-th if the row were sorted.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/with_real.h"

namespace emplace {
namespace {

Status nth_element_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape in, c.with_rank_at_least(0, 1));
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  ASSIGN_OR_RETURN(const int64_t n, dim_from_scalar(c, 1));
  const int64_t last = dim_or_unknown(in, -1);
  if (last >= 0 && n >= 0 && last <= n)
    return invalid_argument(cat("Input must have last dimension > n = ", n, " but is ", last));
  ASSIGN_OR_RETURN(Shape rows, subshape(in, 0, -1));
  c.set_output(0, rows);
  return ok_status();
}

/// Element n of each of the rows [begin, end), of `columns` elements.
template <class T>
void nth_of_rows(const void* in, void* out, int64_t columns, int64_t n, int64_t begin, int64_t end) {
  ScratchVector<T> row(static_cast<size_t>(columns));
  for (int64_t r = begin; r < end; ++r) {
    std::copy_n(static_cast<const T*>(in) + r * columns, columns, row.begin());
    std::nth_element(row.begin(), row.begin() + n, row.end(), [](T a, T b) { return a < b; });
    static_cast<T*>(out)[r] = row[static_cast<size_t>(n)];
  }
}

class NthElement final : public Kernel {
 public:
  using Code = void (*)(const void* in, void* out, int64_t columns, int64_t n, int64_t begin, int64_t end);
  NthElement(const KernelInit& init, Code code) : reverse_(init.attrs.flag("reverse")), code_(code) {}
  Status run(KernelContext& c) override {
    const Shape& in = c.input(0).shape();
    if (in.rank() < 1) return invalid_argument("Input must be >= 1-D, got shape []");
    if (c.input(1).shape().rank() != 0)
      return invalid_argument(cat("N must be scalar but has rank ", c.input(1).shape().rank()));
    int64_t n = int_at(c.input(1), 0);
    const int64_t columns = in.dim_from_end(1);
    if (n < 0) return invalid_argument(cat("Need n >= 0, got ", n));
    if (columns <= n) return invalid_argument(cat("Input must have last dimension > n = ", n, " but is ", columns));
    if (reverse_) n = columns - n - 1;
    ASSIGN_OR_RETURN(const Shape out, subshape(in, 0, -1));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    c.parallel_for(out.num_elements(), 5.0 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
      code_(c.input(0).raw(), c.output(0).raw(), columns, n, begin, end);
    });
    return ok_status();
  }

 private:
  const bool reverse_;
  const Code code_;
};

Result<std::unique_ptr<Kernel>> make_nth_element(const KernelInit& init) {
  const NthElement::Code code =
      with_real(init.input_types[0], [](auto zero) -> NthElement::Code { return nth_of_rows<decltype(zero)>; });
  return std::unique_ptr<Kernel>(new NthElement(init, code));
}

// Equal elements share the gradient.
Status nth_element_gradient(GradientContext& g) {
  const Value chosen = g.cast(g.add("Equal", {g.expand_dims(g.output(0), -1), g.input(0)}), g.type(g.grad(0)));
  const Value dy = g.expand_dims(g.grad(0), -1);
  const Value count = g.expand_dims(g.sum(chosen, g.index(-1, "Sum/reduction_indices")), -1);
  g.set(0, g.mul(g.add("RealDiv", {chosen, count}, {}, "truediv"), dy));
  return g.status();
}

}  // namespace

OpDef nth_element_op() {
  return OpDef("NthElement")
      .doc("Of each row, the element that would stand at place n if the row were sorted.")
      .shape(nth_element_shape)
      .value_inputs({1})
      .cpu(kRealNumbers, make_nth_element)
      .gradient(nth_element_gradient);
}

}  // namespace emplace
