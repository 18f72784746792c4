// MatrixDiagV2, V3, MatrixDiagPartV2, V3, MatrixSetDiag, V2, V3: bands of diagonals of the innermost matrices. A band
// is packed as rows, the highest diagonal first; rows shorter than the longest are filled up on the side that `align`
// leaves open.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

// Diagonal 0 is the main one, positive ones lie above it.
struct Band {
  int64_t lower = 0, upper = 0;
  int64_t rows = 0, columns = 0;  // of a matrix
  bool left_above = true, left_below = true;

  int64_t count() const { return upper - lower + 1; }
  int64_t length(int64_t diagonal) const {
    return std::min(rows + std::min<int64_t>(diagonal, 0), columns - std::max<int64_t>(diagonal, 0));
  }
  int64_t longest() const {
    return std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
  }
  // Where the diagonal starts in its packed row.
  int64_t start(int64_t diagonal) const {
    bool left = (diagonal >= 0 && left_above) || (diagonal <= 0 && left_below);
    return left ? 0 : longest() - length(diagonal);
  }
  int64_t packed_size() const { return count() * longest(); }

  // `k`: one diagonal, or the lowest and the highest.
  static Result<Band> of(const Tensor& k) {
    if (k.shape().rank() > 1 || k.num_elements() < 1 || k.num_elements() > 2) {
      return invalid_argument(
          cat("diag_index must be a scalar or vector of one or two elements, received shape: ", k.shape().to_string()));
    }
    Band b;
    b.lower = int_at(k, 0);
    b.upper = int_at(k, k.num_elements() - 1);
    if (b.lower <= b.upper) return b;
    return invalid_argument(
        cat("lower_diag_index must not be larger than upper_diag_index: ", b.lower, " > ", b.upper));
  }
  // Every diagonal of the band must meet the matrix; the main one always does.
  Status check() const {
    for (int64_t d : {lower, upper}) {
      if ((-rows < d && d < columns) || d == 0) continue;
      return invalid_argument(cat(d == lower ? "lower_diag_index" : "upper_diag_index", " is out of bound: ", d,
                                  ". It must be between ", -rows, " and ", columns));
    }
    return ok_status();
  }
};

// Calls f(diagonal, its place in the packed band, its first element in the matrix, elements) for each of the band.
template <class F>
void for_diagonals(const Band& b, const F& f) {
  for (int64_t d = b.upper; d >= b.lower; --d) {
    int64_t in_matrix = std::max<int64_t>(-d, 0) * b.columns + std::max<int64_t>(d, 0);
    f((b.upper - d) * b.longest() + b.start(d), in_matrix, b.length(d));
  }
}

// Between packed bands and matrices, `count` of each.
void move_diagonals(KernelContext& c, const Band& b, int64_t count, const Tensor& from, Tensor& to,
                    bool into_matrices) {
  for_diagonals(b, [&](int64_t in_band, int64_t in_matrix, int64_t n) {
    if (n <= 0) return;  // MatrixDiag takes diagonals beside the matrix, and drops them
    StridedCopy copy;
    const int64_t matrix = b.rows * b.columns;
    if (into_matrices) {
      copy.add(count, b.packed_size(), matrix);
      copy.add(n, 1, b.columns + 1);
    } else {
      copy.add(count, matrix, b.packed_size());
      copy.add(n, b.columns + 1, 1);
    }
    copy.in_offset = into_matrices ? in_band : in_matrix;
    copy.out_offset = into_matrices ? in_matrix : in_band;
    copy.run(*c.parallel_, from.dtype(), from.raw(), to.raw());
  });
}
void unpack(KernelContext& c, const Band& b, int64_t count, const Tensor& packed, Tensor& matrices) {
  move_diagonals(c, b, count, packed, matrices, true);
}
void pack(KernelContext& c, const Band& b, int64_t count, const Tensor& matrices, Tensor& packed) {
  move_diagonals(c, b, count, matrices, packed, false);
}

void fill(KernelContext& c, Tensor& t, const void* value) {
  fill_elements(*c.parallel_, t.dtype(), value, t.raw(), t.num_elements());
}

// The batch dimensions of a packed band, whose own are one (a single diagonal) or two.
Result<Shape> packed_batch(const Band& b, const Shape& packed) {
  int own = b.count() > 1 ? 2 : 1;
  if (packed.rank() < own)
    return invalid_argument(cat("diagonal must be at least ", own, "-dim, received shape: ", packed.to_string()));
  if (own == 2 && packed.dim_from_end(2) != b.count()) {
    return invalid_argument(
        "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index "
        "range.");
  }
  return Shape(packed.dims().first(static_cast<size_t>(packed.rank() - own)));
}

Result<int64_t> scalar_input(const KernelContext& c, int i, std::string_view name) {
  if (c.input(i).shape().rank() == 0) return int_at(c.input(i), 0);
  return invalid_argument(cat(name, " must be a scalar, received shape: ", c.input(i).shape().to_string()));
}

// The band and matrix size that MatrixDiag's inputs ask for; sizes of -1 are the smallest that fit.
Result<Band> band_to_make(const Tensor& k, const Shape& diagonal, int64_t rows, int64_t columns) {
  ASSIGN_OR_RETURN(Band b, Band::of(k));
  if (diagonal.rank() < 1) return invalid_argument("diagonal must be at least 1-dim, received shape: []");
  int64_t longest = diagonal.dim_from_end(1);
  int64_t min_rows = longest - std::min<int64_t>(b.upper, 0), min_columns = longest + std::max<int64_t>(b.lower, 0);
  if (rows == -1 && columns == -1) {
    rows = columns = std::max(min_rows, min_columns);
  } else {
    if (rows == -1) rows = min_rows;
    if (columns == -1) columns = min_columns;
  }
  if (rows < min_rows) return invalid_argument("The number of rows is too small.");
  if (columns < min_columns) return invalid_argument("The number of columns is too small.");
  if (rows != min_rows && columns != min_columns) {
    return invalid_argument(
        "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.");
  }
  b.rows = rows;
  b.columns = columns;
  return b;
}

void align(Band& b, const Attrs& attrs) {
  const AttrValue* value = attrs.find("align");
  if (value == nullptr) return;
  const auto& text = value->get<std::string>();
  b.left_above = text.starts_with("LEFT");
  b.left_below = text.ends_with("LEFT");
}

class BandKernel : public Kernel {
 public:
  explicit BandKernel(const KernelInit& init) { align(aligned_, init.attrs); }

 protected:
  Band with_alignment(Band b) const {
    b.left_above = aligned_.left_above;
    b.left_below = aligned_.left_below;
    return b;
  }
  // The matrices of input 0.
  Result<Band> band_of_matrices(const KernelContext& c, const Tensor& k) const {
    const Shape& s = c.input(0).shape();
    if (s.rank() < 2) return invalid_argument(cat("input must be at least 2-dim, received shape: ", s.to_string()));
    ASSIGN_OR_RETURN(Band b, Band::of(k));
    b.rows = s.dim_from_end(2);
    b.columns = s.dim_from_end(1);
    RETURN_IF_ERROR(b.check());
    return with_alignment(b);
  }

 private:
  Band aligned_;
};

class MatrixDiag final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  Status run(KernelContext& c) override {
    const Tensor& diagonal = c.input(0);
    ASSIGN_OR_RETURN(int64_t rows, scalar_input(c, 2, "num_rows"));
    ASSIGN_OR_RETURN(int64_t columns, scalar_input(c, 3, "num_cols"));
    if (c.input(4).shape().rank() != 0) return invalid_argument("padding_value must be a scalar");
    ASSIGN_OR_RETURN(Band made, band_to_make(c.input(1), diagonal.shape(), rows, columns));
    Band b = with_alignment(made);
    ASSIGN_OR_RETURN(Shape shape, packed_batch(b, diagonal.shape()));
    shape.add_dim(b.rows);
    shape.add_dim(b.columns);
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    fill(c, c.output(0), c.input(4).raw());
    if (diagonal.num_elements() > 0) unpack(c, b, diagonal.num_elements() / b.packed_size(), diagonal, c.output(0));
    return ok_status();
  }
};

class MatrixDiagPart final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  Status run(KernelContext& c) override {
    const Tensor& in = c.input(0);
    if (c.input(2).shape().rank() != 0) return invalid_argument("padding_value must be a scalar");
    ASSIGN_OR_RETURN(Band b, band_of_matrices(c, c.input(1)));
    Shape shape(in.shape().dims().first(static_cast<size_t>(in.shape().rank()) - 2));
    if (b.count() > 1) shape.add_dim(b.count());
    shape.add_dim(b.longest());
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    fill(c, c.output(0), c.input(2).raw());
    if (in.num_elements() > 0) pack(c, b, in.num_elements() / (b.rows * b.columns), in, c.output(0));
    return ok_status();
  }
};

class MatrixSetDiag final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  Status run(KernelContext& c) override {
    const Tensor &in = c.input(0), &diagonal = c.input(1);
    ASSIGN_OR_RETURN(Band b, band_of_matrices(c, c.num_inputs() > 2 ? c.input(2) : main_diagonal_));
    Shape wanted(in.shape().dims().first(static_cast<size_t>(in.shape().rank()) - 2));
    if (b.count() > 1) wanted.add_dim(b.count());
    wanted.add_dim(b.longest());
    if (!(diagonal.shape() == wanted)) {
      return invalid_argument(cat("Expected diagonal of shape ", wanted.to_string(), " for input ",
                                  in.shape().to_string(), ", got ", diagonal.shape().to_string()));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, in.shape()));
    copy_elements(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw(), in.num_elements());
    if (in.num_elements() > 0) unpack(c, b, in.num_elements() / (b.rows * b.columns), diagonal, c.output(0));
    return ok_status();
  }

 private:
  Tensor main_diagonal_ = Tensor::scalar<int32_t>(0);
};

Status banded_diag_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape diagonal, c.with_rank_at_least(0, 1));
  const Tensor* k = c.input_value(1);
  if (k == nullptr || !diagonal.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(Band b, Band::of(*k));
  ASSIGN_OR_RETURN(diagonal, c.with_rank_at_least(0, b.count() > 1 ? 2 : 1));
  ASSIGN_OR_RETURN(auto rows, scalar_value(c, 2));
  ASSIGN_OR_RETURN(auto columns, scalar_value(c, 3));
  ASSIGN_OR_RETURN(Shape out, subshape(diagonal, 0, b.count() > 1 ? -2 : -1));
  Shape matrix{-1, -1};
  if (rows && columns && diagonal.dim_from_end(1) >= 0) {
    ASSIGN_OR_RETURN(b, band_to_make(*k, diagonal, *rows, *columns));
    matrix = Shape{b.rows, b.columns};
  }
  if (out.rank() + 2 > kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  c.set_output(0, concat_shapes(out, matrix));
  return ok_status();
}

Status banded_diag_part_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, 2));
  const Tensor* k = c.input_value(1);
  if (k == nullptr || !in.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(Band b, Band::of(*k));
  b.rows = in.dim_from_end(2);
  b.columns = in.dim_from_end(1);
  bool known = b.rows >= 0 && b.columns >= 0;
  if (known) RETURN_IF_ERROR(b.check());
  ASSIGN_OR_RETURN(Shape out, subshape(in, 0, -2));
  if (b.count() > 1) out.add_dim(b.count());
  out.add_dim(known ? b.longest() : -1);
  c.set_output(0, out);
  return ok_status();
}

Status matrix_set_diag_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, 2));
  ASSIGN_OR_RETURN(Shape diagonal, c.with_rank_at_least(1, 1));
  Band b;
  if (c.num_inputs() > 2) {
    const Tensor* k = c.input_value(2);
    c.set_output(0, in);
    if (k == nullptr) return ok_status();
    ASSIGN_OR_RETURN(b, Band::of(*k));
  }
  if (!diagonal.rank_known()) {
    c.set_output(0, in);
    return ok_status();
  }
  const int own = b.count() > 1 ? 2 : 1;
  ASSIGN_OR_RETURN(diagonal, c.with_rank_at_least(1, own));
  ASSIGN_OR_RETURN(Shape batch, subshape(diagonal, 0, -own));
  Shape matrix{-1, -1};
  if (in.rank_known()) {
    ASSIGN_OR_RETURN(Shape matrices, subshape(in, 0, -2));
    ASSIGN_OR_RETURN(batch, ShapeContext::merge(matrices, batch));
    ASSIGN_OR_RETURN(matrix, subshape(in, -2));
  }
  if (batch.rank() + 2 > kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  c.set_output(0, concat_shapes(batch, matrix));
  return ok_status();
}

Value padding_zero(GradientContext& g) { return g.scalar(g.type(g.grad(0)), 0, "padding_value"); }

// V3 with the alignment of the forward op; V2's is that of V3 with LEFT_LEFT.
GradientContext::AttrList alignment(const GradientContext& g) {
  const bool v3 = g.op().ends_with("V3");
  return {{"align", AttrValue::of(v3 ? g.attrs().text("align") : std::string("LEFT_LEFT"))}};
}

Status diag_band_gradient(GradientContext& g) {
  g.set(0, g.add("MatrixDiagPartV3", {g.grad(0), g.input(1), padding_zero(g)}, alignment(g)));
  return g.status();
}

Status diag_part_band_gradient(GradientContext& g) {
  Value x = g.input(0);
  const Shape& shape = g.shape(x);
  const int rank = shape.rank_known() ? shape.rank() : 0;
  if (rank >= 2 && shape.dim(rank - 2) >= 0 && shape.dim(rank - 1) >= 0) {
    Value rows = g.index(shape.dim(rank - 2), "num_rows"), columns = g.index(shape.dim(rank - 1), "num_cols");
    g.set(0, g.add("MatrixDiagV3", {g.grad(0), g.input(1), rows, columns, padding_zero(g)}, alignment(g)));
  } else {
    g.set(0, g.add("MatrixSetDiagV3", {g.zeros_like(x), g.grad(0), g.input(1)}, alignment(g)));
  }
  return g.status();
}

Status set_diag_gradient(GradientContext& g) {
  const bool v1 = g.op() == "MatrixSetDiag";
  Value band = v1 ? g.index(0, "k") : g.input(2);
  g.set(0, g.add("MatrixSetDiagV3", {g.grad(0), g.zeros_like(g.input(1)), band}, alignment(g)));
  g.set(1, g.add("MatrixDiagPartV3", {g.grad(0), band, padding_zero(g)}, alignment(g)));
  return g.status();
}

constexpr DTypeSet kTypes = kNumbersAndBool;

OpDef diag(std::string_view name) {
  return OpDef(name)
      .doc("Matrices with the given diagonals, padding_value elsewhere.")
      .shape(banded_diag_shape)
      .cpu(kTypes, make<MatrixDiag>)
      .value_inputs({1, 2, 3})
      .sample("diagonal=f32[2,2,3] uniform(-2,2); k=[0,1]; num_rows=3; num_cols=4; padding_value=9.0");
}
OpDef diag_part(std::string_view name) {
  return OpDef(name)
      .doc("A band of diagonals of the innermost matrices; rows are filled up with padding_value.")
      .shape(banded_diag_part_shape)
      .cpu(kTypes, make<MatrixDiagPart>)
      .value_inputs({1})
      .sample("input=f32[2,3,4] uniform(-2,2); k=[-1,1]; padding_value=9.0");
}
OpDef set_diag(std::string_view name) {
  return OpDef(name)
      .doc("The innermost matrices with other diagonals.")
      .shape(matrix_set_diag_shape)
      .gradient(set_diag_gradient)
      .cpu(kTypes, make<MatrixSetDiag>);
}

}  // namespace

OpDef matrix_diag_v2_op() { return diag("MatrixDiagV2").gradient(diag_band_gradient); }
OpDef matrix_diag_v3_op() { return diag("MatrixDiagV3").gradient(diag_band_gradient); }
OpDef matrix_diag_part_v2_op() { return diag_part("MatrixDiagPartV2").gradient(diag_part_band_gradient); }
OpDef matrix_diag_part_v3_op() { return diag_part("MatrixDiagPartV3").gradient(diag_part_band_gradient); }
OpDef matrix_set_diag_op() {
  return set_diag("MatrixSetDiag").sample("input=f32[2,3,4] uniform(-2,2); diagonal=f32[2,3] uniform(-2,2)");
}
OpDef matrix_set_diag_v2_op() {
  return set_diag("MatrixSetDiagV2")
      .value_inputs({2})
      .sample("input=f32[3,4] uniform(-2,2); diagonal=f32[2,3] uniform(-2,2); k=[0,1]");
}
OpDef matrix_set_diag_v3_op() {
  return set_diag("MatrixSetDiagV3")
      .value_inputs({2})
      .sample("input=f32[3,4] uniform(-2,2); diagonal=f32[2,3] uniform(-2,2); k=[0,1]");
}

}  // namespace emplace
