// MatMul, BatchMatMul, BatchMatMulV2, V3, _FusedMatMul: by cuBLASLt, or by the tiled product of cuda/gemm.h where that
// is missing or has no algorithm.
#include "core/base/cat.h"
#include "core/ops/linear/matrix_product.h"
#include "cuda/broadcast.h"
#include "cuda/cublaslt.h"
#include "cuda/epilogue.h"
#include "cuda/gemm.h"
#include "cuda/log.h"
#include "cuda/moving.h"
#include "cuda/product_batches.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// Matrices of a batch, each row-major, transposed, or transposed and conjugated.
template <class T, int kOperand>
struct LoadMatrix {
  const T* data;
  Broadcast<2> batches;
  int64_t elements, columns;  // of a matrix as it lies in memory
  bool transposed, conjugated;
  __device__ Wide<T> operator()(int64_t batch, int64_t row, int64_t column) const {
    const T* matrix = data + (batches.dims > 0 ? batches.offsets(batch).at[kOperand] : 0) * elements;
    const Wide<T> x = widen(transposed ? matrix[column * columns + row] : matrix[row * columns + column]);
    if constexpr (kIsComplex<T>)
      return conjugated ? conjugate(x) : x;
    else
      return x;
  }
};

template <class T>
struct StoreMatrix {
  T* data;
  int64_t rows, columns;
  ChannelEpilogue<T> epilogue;
  bool fused;
  __device__ void operator()(int64_t batch, int64_t row, int64_t column, Wide<T> value) const {
    T out = narrow<T>(value);
    if constexpr (!kIsComplex<T>) {
      if (fused) out = narrow<T>(epilogue.apply(widen(out), column));
    }
    data[(batch * rows + row) * columns + column] = out;
  }
};

Shape batch_of(const Shape& s) { return Shape(s.dims().first(static_cast<size_t>(s.rank()) - 2)); }

template <class T>
class MatMul final : public Kernel {
 public:
  explicit MatMul(const KernelInit& init) : device_(device_of(init)), node_(init.node_name), fused_(FusedOps{}) {
    const bool batch = init.op.starts_with("Batch");
    shape_.transpose_a = init.attrs.flag(batch ? "adj_x" : "transpose_a");
    shape_.transpose_b = init.attrs.flag(batch ? "adj_y" : "transpose_b");
    shape_.conjugate_a = batch && shape_.transpose_a;
    shape_.conjugate_b = batch && shape_.transpose_b;
    if (init.op == "_FusedMatMul") {
      fused_ = FusedOps::from(init.attrs);
      has_epilogue_ = true;
      if (fused_.ok()) args_ = fused_->check_num_args(init.attrs);
    }
  }

  Status prepare(KernelContext& c) override {
    RETURN_IF_ERROR(fused_.status());
    RETURN_IF_ERROR(args_);
    const Shape& out = c.output(0).shape();
    shape_.m = out.dim_from_end(2);
    shape_.n = out.dim_from_end(1);
    shape_.k = c.input(0).shape().dim_from_end(shape_.transpose_a ? 2 : 1);
    const Shape a = batch_of(c.input(0).shape()), b = batch_of(c.input(1).shape()), all = batch_of(out);
    ASSIGN_OR_RETURN(batches_, plan_broadcast<2>({&a, &b}, all));
    return choose_library();
  }
  Workspace workspace() const override { return {library_ ? scratch_bytes(library_->workspace_bytes()) : 0}; }

  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    const ProductShape& s = shape_;
    StoreMatrix<T> store{c.out<T>(0), s.m, s.n, {}, has_epilogue_};
    if constexpr (!kIsComplex<T>) {
      if (has_epilogue_) {
        ASSIGN_OR_RETURN(store.epilogue, ChannelEpilogue<T>::of(c, *fused_, 2, s.n));
      }
    }
    if (library_) {
      ASSIGN_OR_RETURN(const bool done, run_library(c, store.epilogue));
      if (done) return ok_status();
    }
    const LoadMatrix<T, 0> a{c.in<T>(0), batches_, s.m * s.k, s.transpose_a ? s.m : s.k, s.transpose_a, s.conjugate_a};
    const LoadMatrix<T, 1> b{c.in<T>(1), batches_, s.k * s.n, s.transpose_b ? s.k : s.n, s.transpose_b, s.conjugate_b};
    return gemm<Wide<T>>(stream_of(c), {batches_.elements, s.m, s.n, s.k}, a, b, store);
  }

 private:
  /// No empty sum, and batches that a few calls can go over.
  Status choose_library() {
    library_.reset();
    const ProductShape& s = shape_;
    if (s.m * s.n * s.k == 0 || batches_.elements == 0) return ok_status();
    std::optional<ProductBatches> calls = ProductBatches::of(batches_);
    if (!calls) return ok_status();
    calls_ = *std::move(calls);
    const LtShape shape{dtype_of<T>,
                        s,
                        calls_.count,
                        calls_.a_step * s.m * s.k,
                        calls_.b_step * s.k * s.n,
                        calls_.out_step * s.m * s.n,
                        calls_.starts.size() > 1};
    Result<std::unique_ptr<LtProduct>> made = LtProduct::make(shape, device_);
    if (made.ok()) library_ = made.take();
    say(library_ ? cat("cuBLASLt, ", library_->workspace_bytes(), " bytes of workspace")
                 : cat("emplace's own kernel: ", made.status().message()));
    return made.ok() || made.status().code() == Code::kUnavailable ? ok_status() : made.take_status();
  }
  /// False: take the own kernel, now and from now on.
  Result<bool> run_library(KernelContext& c, const ChannelEpilogue<T>& epilogue) {
    Tensor workspace;
    if (library_->workspace_bytes() > 0) {
      Result<Tensor> got = c.allocate_scratch(DType::kUInt8, Shape{static_cast<int64_t>(library_->workspace_bytes())});
      if (!got.ok() && !device_.deterministic && got.status().code() == Code::kResourceExhausted) {
        library_.reset();
        say(cat("emplace's own kernel: ", got.status().message()));
        return false;
      }
      ASSIGN_OR_RETURN(workspace, std::move(got));
    }
    const ProductShape& s = shape_;
    for (const ProductBatches::Start& at : calls_.starts) {
      RETURN_IF_ERROR(library_->run(stream_of(c), c.in<T>(0) + at.a * s.m * s.k, c.in<T>(1) + at.b * s.k * s.n,
                                    c.out<T>(0) + at.out * s.m * s.n, workspace.raw()));
    }
    if constexpr (!kIsComplex<T>) {
      const int64_t n = c.output(0).num_elements();
      if (has_epilogue_) {
        RETURN_IF_ERROR(enqueue_epilogue(stream_of(c), c.out<T>(0), epilogue, 1, shape_.n, n));
      }
    }
    return true;
  }
  void say(const std::string& what) {
    if (what != said_) cuda::say(LogLevel::kDebug, cat(node_, ": matrix product by ", what));
    said_ = what;
  }

  const DeviceState& device_;
  std::string node_, said_;
  std::unique_ptr<LtProduct> library_;
  ProductShape shape_;
  Broadcast<2> batches_;
  ProductBatches calls_;  // of the library
  Result<FusedOps> fused_;
  Status args_;
  bool has_epilogue_ = false;
};

template <class T>
Status multiply_as(cudaStream_t stream, const ProductShape& s, const void* a, const void* b, void* out) {
  const LoadMatrix<T, 0> left{static_cast<const T*>(a), {}, s.m * s.k, s.k, false, false};
  const LoadMatrix<T, 1> right{static_cast<const T*>(b), {}, s.k * s.n, s.n, false, false};
  return gemm<Wide<T>>(stream, {1, s.m, s.n, s.k}, left, right,
                       StoreMatrix<T>{static_cast<T*>(out), s.m, s.n, {}, false});
}

}  // namespace

Status enqueue_product(cudaStream_t stream, DType type, const ProductShape& shape, const void* a, const void* b,
                       void* out) {
  switch (type) {
    case DType::kFloat:
      return multiply_as<float>(stream, shape, a, b, out);
    case DType::kDouble:
      return multiply_as<double>(stream, shape, a, b, out);
    case DType::kHalf:
      return multiply_as<half>(stream, shape, a, b, out);
    case DType::kBFloat16:
      return multiply_as<bfloat16>(stream, shape, a, b, out);
    case DType::kComplex64:
      return multiply_as<complex64>(stream, shape, a, b, out);
    case DType::kComplex128:
      return multiply_as<complex128>(stream, shape, a, b, out);
    default:
      return internal_error("no products of that type on a GPU");
  }
}

void add_matmul(KernelTable& table) {
  for (auto op : {"MatMul", "BatchMatMul", "BatchMatMulV2"}) {
    table.add_giving_way(op, kFloating | kComplexes,
                         by_input<0, MatMul, float, double, half, bfloat16, complex64, complex128>);
  }
  table.add_giving_way("BatchMatMulV3", kFloatDouble | kComplexes | DTypeSet{DType::kHalf},
                       by_input<0, MatMul, float, double, half, complex64, complex128>);
  table.add_giving_way("_FusedMatMul", kFloating, by_input<0, MatMul, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
