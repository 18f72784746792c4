// SparseMatMul: the product of two matrices of which some have many zeros.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/convert.h"
#include "core/ops/linear/matrix_product.h"

namespace emplace {
namespace {

Status sparse_mat_mul_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape a, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(const Shape b, c.with_rank(1, 2));
  const bool ta = c.attrs().flag("transpose_a"), tb = c.attrs().flag("transpose_b");
  RETURN_IF_ERROR(ShapeContext::merge_dim(a.dim(ta ? 0 : 1), b.dim(tb ? 1 : 0)).take_status());
  c.set_output(0, Shape{a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1)});
  return ok_status();
}

Result<Tensor> as_floats(KernelContext& c, const Tensor& t) {
  if (t.dtype() == DType::kFloat) return t;
  ASSIGN_OR_RETURN(Tensor wide, c.allocate_scratch(DType::kFloat, t.shape()));
  widening(t.dtype())(t.raw(), wide.raw(), t.num_elements());
  return wide;
}

class SparseMatMul final : public Kernel {
 public:
  explicit SparseMatMul(const KernelInit& init)
      : a_sparse_(init.attrs.flag("a_is_sparse")), b_sparse_(init.attrs.flag("b_is_sparse")) {
    shape_.transpose_a = init.attrs.flag("transpose_a");
    shape_.transpose_b = init.attrs.flag("transpose_b");
  }

  Status prepare(KernelContext& c) override {
    shape_.m = c.output(0).shape().dim(0);
    shape_.n = c.output(0).shape().dim(1);
    shape_.k = c.input(0).shape().dim(shape_.transpose_a ? 0 : 1);
    if (!a_sparse_ && !b_sparse_) product_.prepare(DType::kFloat, shape_);
    return ok_status();
  }

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const Tensor a, as_floats(c, c.input(0)));
    ASSIGN_OR_RETURN(const Tensor b, as_floats(c, c.input(1)));
    if (!a_sparse_ && !b_sparse_) return product_.run(c, a.raw(), b.raw(), c.output(0).raw());
    const auto cost = static_cast<double>(shape_.k) * static_cast<double>(shape_.n);
    c.parallel_for(shape_.m, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) multiply_row(a.data<float>(), b.data<float>(), i, c.out<float>(0));
    });
    return ok_status();
  }

 private:
  /// What is multiplied by a zero of the matrix that has many is not looked at, be it infinite.
  void multiply_row(const float* a, const float* b, int64_t i, float* out) const {
    const int64_t m = shape_.m, n = shape_.n, k = shape_.k;
    float* const row = out + i * n;
    std::fill_n(row, n, 0.0f);
    for (int64_t p = 0; p < k; ++p) {
      const float x = shape_.transpose_a ? a[p * m + i] : a[i * k + p];
      if (a_sparse_ && x == 0) continue;
      const float* y = shape_.transpose_b ? b + p : b + p * n;
      const int64_t stride = shape_.transpose_b ? k : 1;
      for (int64_t j = 0; j < n; ++j, y += stride) {
        if (a_sparse_ || *y != 0) row[j] += x * *y;
      }
    }
  }

  const bool a_sparse_, b_sparse_;
  ProductShape shape_;
  MatrixProduct product_;
};

/// One of the two matrices of a gradient.
struct Factor {
  Value value;
  bool sparse = false;
  bool transpose = false;
};

// math_ops.matmul: what is sparse, or of two types, is multiplied by SparseMatMul, whose product is of floats.
Value factor_product(GradientContext& g, Factor a, Factor b, DType type) {
  if (b.transpose) b.value = g.transpose(b.value, g.ints({1, 0}, "transpose/perm"));
  const DType ta = g.type(a.value), tb = g.type(b.value);
  const AttrValue transpose = AttrValue::of(a.transpose), no = AttrValue::of(false);
  Value product;
  if (a.sparse || b.sparse || ta != tb) {
    product = g.add("SparseMatMul", {a.value, b.value},
                    {{"transpose_a", transpose},
                     {"transpose_b", no},
                     {"a_is_sparse", AttrValue::of(a.sparse)},
                     {"b_is_sparse", AttrValue::of(b.sparse)}},
                    "MatMul");
    if (ta == DType::kBFloat16 && tb == DType::kBFloat16) product = g.cast(product, DType::kBFloat16);
  } else {
    product = g.add("MatMul", {a.value, b.value}, {{"transpose_a", transpose}, {"transpose_b", no}});
  }
  return g.type(product) == type ? product : g.cast(product, type);
}

Status sparse_mat_mul_gradient(GradientContext& g) {
  const bool ta = g.attrs().flag("transpose_a"), tb = g.attrs().flag("transpose_b");
  const Factor a{g.input(0), g.attrs().flag("a_is_sparse")}, b{g.input(1), g.attrs().flag("b_is_sparse")},
      dy{g.grad(0), false};
  const auto transposed = [](Factor f) {
    f.transpose = true;
    return f;
  };
  const DType type_a = g.type(a.value), type_b = g.type(b.value);
  if (ta) {
    g.set(0, factor_product(g, tb ? transposed(b) : b, transposed(dy), type_a));
  } else {
    g.set(0, factor_product(g, dy, tb ? b : transposed(b), type_a));
  }
  if (tb) {
    g.set(1, factor_product(g, transposed(dy), ta ? transposed(a) : a, type_b));
  } else {
    g.set(1, factor_product(g, ta ? a : transposed(a), dy, type_b));
  }
  return g.status();
}

}  // namespace

OpDef sparse_mat_mul_op() {
  return OpDef("SparseMatMul")
      .doc("The product of two matrices of floats or bfloat16, of which some may have many zeros, as floats.")
      .shape(sparse_mat_mul_shape)
      .kernel_attr("Ta")
      .cpu(DTypeSet{DType::kFloat, DType::kBFloat16}, make<SparseMatMul>)
      .gradient(sparse_mat_mul_gradient)
      .sample("a=f32[3,4] uniform(-1,1); b=f32[4,2] uniform(-1,1); a_is_sparse=true")
      .sample(
          "a=f32[4,3] uniform(-1,1); b=f32[2,4] uniform(-1,1); transpose_a=true; transpose_b=true; b_is_sparse=true");
}

}  // namespace emplace
