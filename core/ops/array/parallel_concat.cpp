// ParallelConcat: tensors of one row each, one below the other.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status parallel_concat_shape(ShapeContext& c) {
  const Shape& out = c.attrs().shape("shape");
  if (!out.fully_known()) return invalid_argument("shape attr must be fully defined.");
  if (out.rank() == 0) return invalid_argument("Out of range dim_index 0 for shape with 0 dimensions");
  Shape row = out;
  row.dim(0) = 1;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const Shape& value = c.input(i);
    if (!value.fully_known()) return invalid_argument("All input shapes must be fully defined.");
    if (value.rank() == 0) {
      return invalid_argument(
          cat("The rank of all input shapes must be greater than 0, but input ", i, " had rank 0."));
    }
    if (value.dim(0) != 1) return invalid_argument("Size of first dimension must be 1.");
    if (auto merged = ShapeContext::merge(value, row); !merged.ok()) {
      return invalid_argument(cat(merged.status().message(), "\n\tFrom merging shape ", i, " with other shapes."));
    }
  }
  c.set_output(0, out);
  return ok_status();
}

/// Rows that nobody gives are zeros, or empty texts; TensorFlow leaves what was in memory.
Status parallel_concat_cpu(KernelContext& c) {
  Tensor& out = c.output(0);
  const int64_t rows = out.shape().dim(0), given = c.num_inputs();
  if (given > rows)
    return invalid_argument(cat("0th dimension of value = ", rows, " must be greater than loc_ = ", given - 1));
  if (given < rows) fill_zeros(*c.parallel_, out);
  const int64_t n = out.num_elements() / rows;
  for (int i = 0; i < c.num_inputs() && n > 0; ++i)
    copy_elements(*c.parallel_, out.dtype(), c.input(i).raw(), element_at(out, i * n), n);
  return ok_status();
}

}  // namespace

OpDef parallel_concat_op() {
  return OpDef("ParallelConcat")
      .doc("Tensors of one row each, one below the other.")
      .shape(parallel_concat_shape)
      .cpu(kAllData, stateless<parallel_concat_cpu>);
}

}  // namespace emplace
