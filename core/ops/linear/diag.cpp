// Diag, DiagPart (whole tensors) and MatrixDiag, MatrixDiagPart, MatrixBandPart (innermost matrices).
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

Status diag_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, 1));
  if (in.rank_known() && in.rank() > kMaxRank / 2) return invalid_argument(cat("rank ", in.rank(), " is too large"));
  c.set_output(0, concat_shapes(in, in));
  return ok_status();
}

Status diag_part_shape(ShapeContext& c) {
  const Shape& in = c.input(0);
  if (!in.rank_known()) return ok_status();
  if (in.rank() % 2 != 0 || in.rank() == 0) {
    return invalid_argument(cat("Input must have even and non-zero rank, input rank is ", in.rank()));
  }
  int half_rank = in.rank() / 2;
  Shape out;
  for (int i = 0; i < half_rank; ++i) {
    ASSIGN_OR_RETURN(int64_t dim, ShapeContext::merge_dim(in.dim(i), in.dim(i + half_rank)));
    out.add_dim(dim);
  }
  c.set_output(0, out);
  return ok_status();
}

Status matrix_diag_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, 1));
  if (!in.rank_known()) return ok_status();
  if (in.rank() >= kMaxRank) return invalid_argument(cat("rank ", in.rank(), " is too large"));
  in.add_dim(in.dim_from_end(1));
  c.set_output(0, in);
  return ok_status();
}

Status matrix_diag_part_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, 2));
  if (!in.rank_known()) return ok_status();
  int64_t rows = in.dim_from_end(2), columns = in.dim_from_end(1);
  ASSIGN_OR_RETURN(Shape out, subshape(in, 0, -2));
  bool known = (rows >= 0 && columns >= 0) || rows == 0 || columns == 0;
  out.add_dim(known ? std::min(std::max<int64_t>(rows, 0), std::max<int64_t>(columns, 0)) : -1);
  c.set_output(0, out);
  return ok_status();
}

Status band_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, 2));
  c.set_output(0, in);
  return ok_status();
}

// Between `n` consecutive elements and the diagonal of each of `batch` matrices with that many elements.
StridedCopy diagonal(int64_t batch, int64_t n, int64_t matrix, int64_t columns, bool into_matrix) {
  StridedCopy copy;
  if (into_matrix) {
    copy.add(batch, n, matrix);
    copy.add(n, 1, columns + 1);
  } else {
    copy.add(batch, matrix, n);
    copy.add(n, columns + 1, 1);
  }
  return copy;
}

Status diag_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  RETURN_IF_ERROR(ensure_output(c, 0, concat_shapes(in.shape(), in.shape())));
  fill_zeros(*c.parallel_, c.output(0));
  int64_t n = in.num_elements();
  if (n > 0) diagonal(1, n, n * n, n, true).run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

Status diag_part_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  const Shape& s = in.shape();
  if (s.rank() % 2 != 0 || s.rank() == 0) {
    return invalid_argument(cat("The rank of the tensor should be even and positive, got shape ", s.to_string()));
  }
  Shape out;
  for (int i = 0; i < s.rank() / 2; ++i) {
    if (s.dim(i) != s.dim(i + s.rank() / 2)) {
      return invalid_argument(
          cat("Invalid shape ", s.to_string(), ": dimensions ", i, " and ", i + s.rank() / 2, " do not match."));
    }
    out.add_dim(s.dim(i));
  }
  RETURN_IF_ERROR(ensure_output(c, 0, out));
  int64_t n = c.output(0).num_elements();
  if (n > 0) diagonal(1, n, n * n, n, false).run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

Status matrix_diag_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  if (in.shape().rank() < 1) return invalid_argument("diagonal must be at least 1-dim, received shape: []");
  fill_zeros(*c.parallel_, c.output(0));
  if (in.num_elements() == 0) return ok_status();
  int64_t n = in.shape().dim_from_end(1);
  diagonal(in.num_elements() / n, n, n * n, n, true).run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

Status matrix_diag_part_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  if (in.shape().rank() < 2) {
    return invalid_argument(cat("input must be at least 2-dim, received shape: ", in.shape().to_string()));
  }
  if (in.num_elements() == 0) return ok_status();
  int64_t rows = in.shape().dim_from_end(2), columns = in.shape().dim_from_end(1);
  int64_t matrix = rows * columns;
  diagonal(in.num_elements() / matrix, std::min(rows, columns), matrix, columns, false)
      .run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
  return ok_status();
}

// Row r keeps columns [r - lower, r + upper]; negative: all on that side.
Status matrix_band_part_cpu(KernelContext& c) {
  const Tensor& in = c.input(0);
  if (in.shape().rank() < 2) {
    return invalid_argument(cat("input must be at least 2-dim, received shape: ", in.shape().to_string()));
  }
  int64_t rows = in.shape().dim_from_end(2), columns = in.shape().dim_from_end(1);
  for (int i : {1, 2}) {
    if (c.input(i).shape().rank() != 0) {
      return invalid_argument(
          cat(i == 1 ? "num_lower" : "num_upper", " must be scalar, got shape ", c.input(i).shape().to_string()));
    }
  }
  int64_t lower = int_at(c.input(1), 0), upper = int_at(c.input(2), 0);
  if (lower > rows) {
    return invalid_argument(
        cat("num_lower must be negative or less or equal to number of rows (", rows, ") got: ", lower));
  }
  if (upper > columns) {
    return invalid_argument(
        cat("num_upper must be negative or less or equal to number of columns (", columns, ") got: ", upper));
  }
  fill_zeros(*c.parallel_, c.output(0));
  if (in.num_elements() == 0) return ok_status();
  Tensor& out = c.output(0);
  c.parallel_for(in.num_elements() / columns, 0.1 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t row = r % rows;
      int64_t first = lower < 0 ? 0 : std::max<int64_t>(row - lower, 0);
      int64_t last = upper < 0 ? columns : std::min(row + upper + 1, columns);
      copy_elements(in.dtype(), element_at(in, r * columns + first), element_at(out, r * columns + first),
                    last - first);
    }
  });
  return ok_status();
}

Status diag_gradient(GradientContext& g) {
  g.set(0, g.add("DiagPart", {g.grad(0)}));
  return g.status();
}

Status diag_part_gradient(GradientContext& g) {
  g.set(0, g.add("Diag", {g.grad(0)}));
  return g.status();
}

Value main_diagonal(GradientContext& g) { return g.index(0, "k"); }

Status matrix_diag_gradient(GradientContext& g) {
  g.set(0, g.add("MatrixDiagPartV3", {g.grad(0), main_diagonal(g), g.scalar(g.type(g.grad(0)), 0, "padding_value")}));
  return g.status();
}

// Matrices that are not square (or not known to be) keep zeros outside the diagonal.
Status matrix_diag_part_gradient(GradientContext& g) {
  Value x = g.input(0), dy = g.grad(0);
  const Shape& shape = g.shape(x);
  const int rank = shape.rank_known() ? shape.rank() : 0;
  if (rank >= 2 && shape.dim(rank - 1) >= 0 && shape.dim(rank - 1) == shape.dim(rank - 2)) {
    Value open = g.index(-1, "num_rows");
    g.set(0, g.add("MatrixDiagV3", {dy, main_diagonal(g), open, open, g.scalar(g.type(dy), 0, "padding_value")}));
  } else {
    g.set(0, g.add("MatrixSetDiagV3", {g.zeros_like(x), dy, main_diagonal(g)}));
  }
  return g.status();
}

Status matrix_band_part_gradient(GradientContext& g) {
  g.set(0, g.add("MatrixBandPart", {g.grad(0), g.input(1), g.input(2)}));
  return g.status();
}

}  // namespace

OpDef diag_op() {
  return OpDef("Diag")
      .doc("Zeros with x on the diagonal: y[i, i] = x[i] for index tuples i.")
      .shape(diag_shape)
      .cpu(kMovable, stateless<diag_cpu>)
      .gradient(diag_gradient);
}
OpDef diag_part_op() {
  return OpDef("DiagPart")
      .doc("The diagonal: y[i] = x[i, i] for index tuples i.")
      .shape(diag_part_shape)
      .cpu(kMovable, stateless<diag_part_cpu>)
      .gradient(diag_part_gradient);
}
OpDef matrix_diag_op() {
  return OpDef("MatrixDiag")
      .doc("Square matrices with the rows of x on their diagonals.")
      .shape(matrix_diag_shape)
      .cpu(kMovable, stateless<matrix_diag_cpu>)
      .gradient(matrix_diag_gradient);
}
OpDef matrix_diag_part_op() {
  return OpDef("MatrixDiagPart")
      .doc("The diagonals of the innermost matrices.")
      .shape(matrix_diag_part_shape)
      .cpu(kMovable, stateless<matrix_diag_part_cpu>)
      .gradient(matrix_diag_part_gradient);
}
OpDef matrix_band_part_op() {
  return OpDef("MatrixBandPart")
      .doc("The innermost matrices with everything outside a band set to 0.")
      .shape(band_shape)
      .cpu(kMovable, stateless<matrix_band_part_cpu>)
      .gradient(matrix_band_part_gradient);
}

}  // namespace emplace
