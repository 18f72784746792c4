// MatMul, BatchMatMul, BatchMatMulV2, BatchMatMulV3, _FusedMatMul: products of matrices, one or many, over
// core/ops/linear/matrix_product.h.

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/described_kernel.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/conv/epilogue.h"
#include "core/ops/kit/broadcast.h"
#include "core/ops/linear/matrix_product.h"

namespace emplace {
namespace {

constexpr DTypeSet kMatMulTypes = kFloating | kComplexes | DTypeSet{DType::kInt16, DType::kInt32, DType::kInt64};

Status matmul_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape a, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(Shape b, c.with_rank(1, 2));
  const bool ta = c.attrs().flag("transpose_a"), tb = c.attrs().flag("transpose_b");
  ASSIGN_OR_RETURN([[maybe_unused]] int64_t inner, ShapeContext::merge_dim(a.dim(ta ? 0 : 1), b.dim(tb ? 1 : 0)));
  c.set_output(0, Shape{a.dim(ta ? 1 : 0), b.dim(tb ? 0 : 1)});
  return ok_status();
}

class MatMul final : public DescribedKernel {
 public:
  explicit MatMul(const KernelInit& init) : type_(init.input_types[0]) {
    shape_.transpose_a = init.attrs.flag("transpose_a");
    shape_.transpose_b = init.attrs.flag("transpose_b");
  }
  Status prepare(KernelContext& c) override {
    shape_.m = c.output(0).shape().dim(0);
    shape_.n = c.output(0).shape().dim(1);
    shape_.k = c.input(0).shape().dim(shape_.transpose_a ? 0 : 1);
    product_.prepare(type_, shape_);
    return ok_status();
  }
  Status run(KernelContext& c) override {
    return product_.run(c, c.input(0).raw(), c.input(1).raw(), c.output(0).raw(), c.input_is_constant(1), c.row_sink_);
  }
  Workspace workspace() const override { return product_.workspace(); }
  bool hands_on_rows() const override { return product_.hands_on_rows(); }
  std::string describe() const override { return product_.describe(); }

 private:
  DType type_;
  ProductShape shape_;
  MatrixProduct product_;
};

/// MatMul, then what `fused_ops` lists, row by row while they are in cache.
template <class T>
class FusedMatMul final : public Kernel {
 public:
  FusedMatMul(const KernelInit& init, FusedOps fused) : matmul_(init), fused_(fused) {}
  Status prepare(KernelContext& c) override { return matmul_.prepare(c); }
  Workspace workspace() const override { return matmul_.workspace(); }
  Status run(KernelContext& c) override {
    using C = Compute<T>;
    RETURN_IF_ERROR(matmul_.run(c));
    const int64_t rows = c.output(0).shape().dim(0), cols = c.output(0).shape().dim(1);
    RETURN_IF_ERROR(epilogue_.template prepare<T>(c, fused_, 2, cols));
    T* out = c.template out<T>(0);
    c.parallel_for(rows, static_cast<double>(cols) * 0.5, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<C, T>) {
        epilogue_.run(out + begin * cols, static_cast<int>(end - begin), cols, cols, 0);
      } else {
        ScratchVector<C> row(static_cast<size_t>(cols));
        for (int64_t i = begin; i < end; ++i) {
          for (int64_t j = 0; j < cols; ++j) row[static_cast<size_t>(j)] = static_cast<C>(out[i * cols + j]);
          epilogue_.run(row.data(), 1, cols, cols, 0);
          for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = static_cast<T>(row[static_cast<size_t>(j)]);
        }
      }
    });
    return ok_status();
  }

 private:
  MatMul matmul_;
  FusedOps fused_;
  Epilogue<Compute<T>> epilogue_;
};

template <class T>
Result<std::unique_ptr<Kernel>> make_fused_matmul(const KernelInit& init) {
  ASSIGN_OR_RETURN(FusedOps fused, FusedOps::from(init.attrs));
  RETURN_IF_ERROR(fused.check_num_args(init.attrs));
  return owned_kernel(new FusedMatMul<T>(init, fused));
}

/// The dimensions before the last two.
Shape batch_of(const Shape& s) {
  return s.rank_known() ? Shape(s.dims().first(static_cast<size_t>(s.rank()) - 2)) : Shape::unknown();
}

Status batch_matmul_shape_with(ShapeContext& c, Result<Shape> (*join)(const Shape&, const Shape&)) {
  ASSIGN_OR_RETURN(Shape a, c.with_rank_at_least(0, 2));
  ASSIGN_OR_RETURN(Shape b, c.with_rank_at_least(1, 2));
  const int adj_x = c.attrs().flag("adj_x"), adj_y = c.attrs().flag("adj_y");
  auto dim = [](const Shape& s, int from_end) { return s.rank_known() ? s.dim_from_end(from_end) : -1; };
  ASSIGN_OR_RETURN(Shape out, join(batch_of(a), batch_of(b)));
  ASSIGN_OR_RETURN([[maybe_unused]] int64_t inner, ShapeContext::merge_dim(dim(a, 1 + adj_x), dim(b, 2 - adj_y)));
  if (!out.rank_known()) return ok_status();
  out.add_dim(dim(a, 2 - adj_x));
  out.add_dim(dim(b, 1 + adj_y));
  c.set_output(0, std::move(out));
  return ok_status();
}
Status batch_matmul_shape(ShapeContext& c) { return batch_matmul_shape_with(c, ShapeContext::merge); }
Status batch_matmul_v2_shape(ShapeContext& c) { return batch_matmul_shape_with(c, broadcast_shapes); }

/// V2 broadcasts the batch dimensions. Where one matrix is multiplied from the right with all, the rows of all are one
/// product; else one product comes after the other.
class BatchMatMul final : public DescribedKernel {
 public:
  explicit BatchMatMul(const KernelInit& init) : type_(init.input_types[0]) {
    shape_.transpose_a = shape_.conjugate_a = init.attrs.flag("adj_x");
    shape_.transpose_b = shape_.conjugate_b = init.attrs.flag("adj_y");
  }
  Status prepare(KernelContext& c) override {
    const Shape& out = c.output(0).shape();
    shape_.m = out.dim_from_end(2);
    shape_.n = out.dim_from_end(1);
    shape_.k = c.input(0).shape().dim_from_end(shape_.transpose_a ? 2 : 1);
    const Shape a = batch_of(c.input(0).shape()), b = batch_of(c.input(1).shape());
    one_ = b.num_elements() == 1 && !shape_.transpose_a;
    if (one_) {
      shape_.m *= a.num_elements();
    } else {
      const Shape* batches[] = {&a, &b};
      plan_ = plan_broadcast(batches, batch_of(out));
    }
    product_.prepare(type_, shape_);
    return ok_status();
  }
  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    if (one_) {
      return product_.run(c, c.input(0).raw(), c.input(1).raw(), c.output(0).raw(), c.input_is_constant(1),
                          c.row_sink_);
    }
    return run_each(c);
  }
  bool hands_on_rows() const override { return one_ && product_.hands_on_rows(); }
  std::string describe() const override {
    return one_ ? product_.describe() : cat("one product after the other, each: ", product_.describe());
  }
  Workspace workspace() const override { return product_.workspace(); }

 private:
  Status run_each(KernelContext& c) {
    const int64_t bytes = static_cast<int64_t>(dtype_size(type_));
    const int64_t a_bytes = shape_.m * shape_.k * bytes, b_bytes = shape_.k * shape_.n * bytes;
    char* out = c.out<char>(0);
    RunCursor cursor(plan_, 0);
    for (int64_t run = 0; run < plan_.runs(); ++run, cursor.next()) {
      for (int64_t i = 0; i < plan_.run_length(); ++i, out += shape_.m * shape_.n * bytes) {
        const int64_t a = cursor.offsets()[0] + i * plan_.run_strides()[0];
        const int64_t b = cursor.offsets()[1] + i * plan_.run_strides()[1];
        RETURN_IF_ERROR(product_.run(c, c.in<char>(0) + a * a_bytes, c.in<char>(1) + b * b_bytes, out));
      }
    }
    return ok_status();
  }

  DType type_;
  ProductShape shape_;
  MatrixProduct product_;
  BroadcastPlan plan_;
  bool one_ = false;
};

/// V3 of two types: bytes multiply into int32, or, beside a bfloat16, into one.
class MixedBatchMatMul final : public Kernel {
 public:
  explicit MixedBatchMatMul(const KernelInit& init)
      : adjoint_x_(init.attrs.flag("adj_x")), adjoint_y_(init.attrs.flag("adj_y")) {}

  Status run(KernelContext& c) override {
    const Shape& out = c.output(0).shape();
    if (out.num_elements() == 0) return ok_status();
    const DType type = c.output(0).dtype();
    ASSIGN_OR_RETURN(const Tensor a, widened(c, 0, type));
    ASSIGN_OR_RETURN(const Tensor b, widened(c, 1, type));
    ProductShape shape;
    shape.m = out.dim_from_end(2), shape.n = out.dim_from_end(1);
    shape.k = c.input(0).shape().dim_from_end(adjoint_x_ ? 2 : 1);
    shape.transpose_a = adjoint_x_, shape.transpose_b = adjoint_y_;
    MatrixProduct product;
    product.prepare(type, shape);
    const Shape a_batch = batch_of(c.input(0).shape()), b_batch = batch_of(c.input(1).shape());
    const Shape* batches[] = {&a_batch, &b_batch};
    const BroadcastPlan plan = plan_broadcast(batches, batch_of(out));
    char* to = c.out<char>(0);
    RunCursor cursor(plan, 0);
    const auto bytes = static_cast<int64_t>(dtype_size(type));
    for (int64_t run = 0; run < plan.runs(); ++run, cursor.next()) {
      for (int64_t i = 0; i < plan.run_length(); ++i, to += shape.m * shape.n * bytes) {
        const int64_t x = cursor.offsets()[0] + i * plan.run_strides()[0];
        const int64_t y = cursor.offsets()[1] + i * plan.run_strides()[1];
        RETURN_IF_ERROR(product.run(c, static_cast<const char*>(a.raw()) + x * shape.m * shape.k * bytes,
                                    static_cast<const char*>(b.raw()) + y * shape.k * shape.n * bytes, to));
      }
    }
    return ok_status();
  }

 private:
  static Result<Tensor> widened(KernelContext& c, int i, DType type) {
    const Tensor& t = c.input(i);
    if (t.dtype() == type) return t;
    ASSIGN_OR_RETURN(Tensor wide, c.allocate_scratch(type, t.shape()));
    const int64_t n = t.num_elements();
    const auto convert = [&](const auto* from) {
      if (type == DType::kInt32)
        std::copy_n(from, n, wide.data<int32_t>());
      else
        for (int64_t k = 0; k < n; ++k) wide.data<bfloat16>()[k] = bfloat16(static_cast<float>(from[k]));
    };
    t.dtype() == DType::kInt8 ? convert(t.data<int8_t>()) : convert(t.data<uint8_t>());
    return wide;
  }

  const bool adjoint_x_, adjoint_y_;
};

Result<std::unique_ptr<Kernel>> make_batch_matmul_v3(const KernelInit& init) {
  const DType type = init.attrs.type("Tout");
  const bool mixed = init.attrs.type("Ta") != type || init.attrs.type("Tb") != type;
  return mixed ? make<MixedBatchMatMul>(init) : make<BatchMatMul>(init);
}

// d(op(a) op(b)) for each choice of transposing; `matmul(x, y, transpose x, transpose y)` is the product.
template <class F>
std::pair<Value, Value> product_gradients(GradientContext& g, bool transposed_a, bool transposed_b, const F& matmul) {
  Value a = g.input(0), b = g.input(1), dy = g.grad(0);
  Value da = transposed_a ? matmul(b, dy, transposed_b, true, true) : matmul(dy, b, false, !transposed_b, true);
  Value db = transposed_b ? matmul(dy, a, true, transposed_a, false) : matmul(a, dy, !transposed_a, false, false);
  return {da, db};
}

Status matmul_gradient(GradientContext& g) {
  auto matmul = [&](Value x, Value y, bool transpose_x, bool transpose_y, bool of_a) {
    return g.add("MatMul", {x, y},
                 {{"transpose_a", AttrValue::of(transpose_x)},
                  {"transpose_b", AttrValue::of(transpose_y)},
                  {"grad_a", AttrValue::of(of_a)},
                  {"grad_b", AttrValue::of(!of_a)}});
  };
  auto [da, db] = product_gradients(g, g.attrs().flag("transpose_a"), g.attrs().flag("transpose_b"), matmul);
  g.set(0, da);
  g.set(1, db);
  return g.status();
}

// Do static shapes say that no batch dimension was spread?
bool same_batches(const Shape& x, const Shape& y) {
  if (!x.rank_known() || !y.rank_known()) return false;
  if (x.rank() <= 2 && y.rank() <= 2) return true;
  if (x.rank() != y.rank()) return false;
  for (int i = 0; i + 2 < x.rank(); ++i) {
    if (x.dim(i) < 0 || x.dim(i) != y.dim(i)) return false;
  }
  return true;
}

Status batch_matmul_gradient(GradientContext& g) {
  const bool v2 = g.op() != "BatchMatMul";
  auto matmul = [&](Value x, Value y, bool adjoint_x, bool adjoint_y, bool of_a) {
    GradientContext::AttrList attrs{{"adj_x", AttrValue::of(adjoint_x)}, {"adj_y", AttrValue::of(adjoint_y)}};
    if (v2) attrs.insert(attrs.end(), {{"grad_x", AttrValue::of(of_a)}, {"grad_y", AttrValue::of(!of_a)}});
    return g.add("BatchMatMulV2", {x, y}, std::move(attrs), "MatMul");
  };
  auto [dx, dy] = product_gradients(g, g.attrs().flag("adj_x"), g.attrs().flag("adj_y"), matmul);
  Value x = g.input(0), y = g.input(1);
  if (v2 && !same_batches(g.shape(x), g.shape(y))) {
    Value x_shape = g.shape_of(x), y_shape = g.shape_of(y);
    Value axes = g.add("BroadcastGradientArgs", {g.slice(x_shape, 0, -2), g.slice(y_shape, 0, -2)});
    dx = g.reshape(g.sum(dx, axes), x_shape);
    dy = g.reshape(g.sum(dy, axes.output(1)), y_shape);
  }
  g.set(0, dx);
  g.set(1, dy);
  return g.status();
}

}  // namespace

OpDef matmul_op() {
  return OpDef("MatMul")
      .doc("The product of two matrices, either of them transposed if asked for.")
      .traits({.work = Work::kMatMul})
      .shape(matmul_shape)
      .cpu(kMatMulTypes, make<MatMul>)
      .sample("a=f32[2,3] uniform(-1,1); b=f32[3,4] uniform(-1,1)")
      .sample("a=f32[3,2] uniform(-1,1); b=f32[4,3] uniform(-1,1); transpose_a=true; transpose_b=true")
      .sample("a=f32[2,0]; b=f32[0,4]")
      .gradient(matmul_gradient);
}
OpDef fused_matmul_op() {
  return OpDef("_FusedMatMul")
      .doc("MatMul, then what fused_ops lists: BiasAdd and an activation.")
      .traits({.work = Work::kMatMul})
      .shape(matmul_shape)
      .cpu<float>(make_fused_matmul<float>)
      .cpu<double>(make_fused_matmul<double>)
      .cpu<half>(make_fused_matmul<half>)
      .cpu<bfloat16>(make_fused_matmul<bfloat16>);
}
OpDef batch_matmul_op() {
  return OpDef("BatchMatMul")
      .doc("Matrix products of the last two dimensions; the others are equal.")
      .traits({.work = Work::kMatMul})
      .shape(batch_matmul_shape)
      .cpu(kMatMulTypes, make<BatchMatMul>)
      .sample("x=f32[5,2,3] uniform(-1,1); y=f32[5,3,4] uniform(-1,1)")
      .gradient(batch_matmul_gradient);
}
OpDef batch_matmul_v3_op() {
  return OpDef("BatchMatMulV3")
      .doc("Matrix products of the last two dimensions; the others are broadcast. Bytes may multiply into int32.")
      .traits({.work = Work::kMatMul})
      .shape(batch_matmul_v2_shape)
      .kernel_attr("Ta")
      .cpu(kMatMulTypes.without(DTypeSet{DType::kHalf}) | DTypeSet{DType::kInt8, DType::kUInt8}, make_batch_matmul_v3)
      .sample("x=f64[5,1,2,3] uniform(-1,1); y=f64[2,3,4] uniform(-1,1); Tout=float64")
      .gradient(batch_matmul_gradient);
}
OpDef batch_matmul_v2_op() {
  return OpDef("BatchMatMulV2")
      .doc("Matrix products of the last two dimensions; the others are broadcast.")
      .traits({.work = Work::kMatMul})
      .shape(batch_matmul_v2_shape)
      .cpu(kMatMulTypes, make<BatchMatMul>)
      .sample("x=f32[5,1,2,3] uniform(-1,1); y=f32[2,3,4] uniform(-1,1)")
      .gradient(batch_matmul_gradient);
}

}  // namespace emplace
