#include "cuda/cublaslt.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "core/base/cat.h"
#include "cuda/library.h"
#include "cuda/log.h"

#ifndef EMPLACE_STANDIN
#include <cublasLt.h>
#endif

namespace emplace::cuda {

#ifdef EMPLACE_STANDIN

void LtProduct::load_soon() {}

Result<std::unique_ptr<LtProduct>> LtProduct::make(const LtShape&, const DeviceState&) {
  return unavailable("no cuBLASLt on the stand-in");
}

#else

namespace {

constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what cuBLAS advises for Hopper

struct Functions {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;

  Status load() {
    ASSIGN_OR_RETURN(const Library lt, Library::open("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR)));
    RETURN_IF_ERROR(lt.find("cublasLtCreate", create));
    RETURN_IF_ERROR(lt.find("cublasLtMatmulDescCreate", desc_create));
    RETURN_IF_ERROR(lt.find("cublasLtMatmulDescDestroy", desc_destroy));
    RETURN_IF_ERROR(lt.find("cublasLtMatmulDescSetAttribute", desc_set));
    RETURN_IF_ERROR(lt.find("cublasLtMatrixLayoutCreate", layout_create));
    RETURN_IF_ERROR(lt.find("cublasLtMatrixLayoutDestroy", layout_destroy));
    RETURN_IF_ERROR(lt.find("cublasLtMatrixLayoutSetAttribute", layout_set));
    RETURN_IF_ERROR(lt.find("cublasLtMatmulPreferenceCreate", preference_create));
    RETURN_IF_ERROR(lt.find("cublasLtMatmulPreferenceDestroy", preference_destroy));
    RETURN_IF_ERROR(lt.find("cublasLtMatmulPreferenceSetAttribute", preference_set));
    RETURN_IF_ERROR(lt.find("cublasLtMatmulAlgoGetHeuristic", heuristic));
    return lt.find("cublasLtMatmul", matmul);
  }
};

/// Loaded once; the warning is the only one there will be.
const Result<Functions>& functions() {
  static const Result<Functions> kFunctions = [] {
    Functions f;
    Status loaded = f.load();
    if (loaded.ok()) return Result<Functions>(f);
    say(LogLevel::kWarning, cat(loaded.message(), "; matrix products run on emplace's own kernel"));
    return Result<Functions>(loaded);
  }();
  return kFunctions;
}

Status try_lt(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return ok_status();
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return unavailable("cuBLASLt does not support this product");
  return internal_error(cat(call, ": cuBLAS status ", static_cast<int>(status)));
}
#define LT_TRY(call) RETURN_IF_ERROR(try_lt((call), #call))

/// One handle per card.
Result<cublasLtHandle_t> handle_of(const Functions& f, int device) {
  constexpr int kMaxCards = 64;
  static std::mutex mutex;
  static cublasLtHandle_t handles[kMaxCards];
  if (device >= kMaxCards) return unavailable("so many cards");
  std::lock_guard lock(mutex);
  if (!handles[device]) LT_TRY(f.create(&handles[device]));
  return handles[device];
}

struct Types {
  cudaDataType_t data = CUDA_R_32F, scale = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};
Types types_of(DType type, bool tf32) {
  const cublasComputeType_t single = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  switch (type) {
    case DType::kDouble:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::kHalf:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kBFloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kComplex64:
      return {CUDA_C_32F, CUDA_C_32F, single};
    case DType::kComplex128:
      return {CUDA_C_64F, CUDA_C_64F, CUBLAS_COMPUTE_64F};
    default:
      return {CUDA_R_32F, CUDA_R_32F, single};
  }
}

// Row-major matrices are column-major ones transposed, so out^T = b^T a^T is what cuBLASLt computes.
class Product final : public LtProduct {
 public:
  Product(const Functions& f, cublasLtHandle_t handle) : f_(f), handle_(handle) {}
  ~Product() override {
    if (desc_) f_.desc_destroy(desc_);
    for (cublasLtMatrixLayout_t layout : {left_, right_, out_}) {
      if (layout) f_.layout_destroy(layout);
    }
  }

  Status choose(const LtShape& shape, const DeviceState& device) {
    const ProductShape& p = shape.product;
    const Types types = types_of(shape.type, device.tf32);
    LT_TRY(f_.desc_create(&desc_, types.compute, types.scale));
    // A real matrix is its own conjugate; that products of real ones take OP_C is nowhere said.
    const bool complex = types.data == CUDA_C_32F || types.data == CUDA_C_64F;
    const cublasOperation_t left_op = operation(p.transpose_b, complex && p.conjugate_b),
                            right_op = operation(p.transpose_a, complex && p.conjugate_a);
    LT_TRY(f_.desc_set(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &left_op, sizeof left_op));
    LT_TRY(f_.desc_set(desc_, CUBLASLT_MATMUL_DESC_TRANSB, &right_op, sizeof right_op));
    RETURN_IF_ERROR(
        layout(left_, types.data, p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n, shape.batches, shape.b_step));
    RETURN_IF_ERROR(
        layout(right_, types.data, p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k, shape.batches, shape.a_step));
    RETURN_IF_ERROR(layout(out_, types.data, p.m, p.n, shape.batches, shape.out_step));
    cublasLtMatmulPreference_t preference = nullptr;
    LT_TRY(f_.preference_create(&preference));
    // Partial sums of an algorithm may be kept in the output's type: for narrow types that would round them.
    const bool narrow = types.data == CUDA_R_16F || types.data == CUDA_R_16BF;
    Status chosen = choose_algorithm(
        preference, device.deterministic || narrow,
        {matrix_alignment(shape, shape.b_step, p.k * p.n), matrix_alignment(shape, shape.a_step, p.m * p.k),
         matrix_alignment(shape, shape.out_step, p.m * p.n)});
    f_.preference_destroy(preference);
    return chosen;
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }

  Status run(cudaStream_t stream, const void* a, const void* b, void* out, void* workspace) override {
    LT_TRY(f_.matmul(handle_, desc_, kOne, b, left_, a, right_, kZero, out, out_, out, out_, &algorithm_, workspace,
                     workspace_bytes_, stream));
    return ok_status();
  }

 private:
  // One and zero as complex numbers; real ones are their first halves.
  static constexpr double kDoubles[4] = {1, 0, 0, 0};
  static constexpr float kFloats[4] = {1, 0, 0, 0};
  const void *kOne = kFloats, *kZero = kFloats + 2;

  static cublasOperation_t operation(bool transposed, bool conjugated) {
    return conjugated ? CUBLAS_OP_C : transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  }
  /// Of a row-major matrix.
  Status layout(cublasLtMatrixLayout_t& to, cudaDataType_t type, int64_t rows, int64_t columns, int64_t batches,
                int64_t step) {
    if (type == CUDA_R_64F || type == CUDA_C_64F) kOne = kDoubles, kZero = kDoubles + 2;
    LT_TRY(f_.layout_create(&to, type, static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), columns));
    if (batches == 1) return ok_status();
    const auto count = static_cast<int32_t>(batches);
    LT_TRY(f_.layout_set(to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    LT_TRY(f_.layout_set(to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
    return ok_status();
  }
  struct Alignments {
    uint32_t left, right, out;
  };
  Status choose_algorithm(cublasLtMatmulPreference_t preference, bool wide_sums, const Alignments& at) {
    LT_TRY(f_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                             sizeof kWorkspaceBytes));
    LT_TRY(f_.preference_set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &at.left, sizeof at.left));
    LT_TRY(f_.preference_set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &at.right, sizeof at.right));
    LT_TRY(f_.preference_set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &at.out, sizeof at.out));
    LT_TRY(f_.preference_set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &at.out, sizeof at.out));
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (wide_sums)
      LT_TRY(f_.preference_set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    LT_TRY(f_.heuristic(handle_, desc_, left_, right_, out_, out_, preference, 1, &found, &count));
    if (count == 0 || found.state != CUBLAS_STATUS_SUCCESS)
      return unavailable("cuBLASLt has no algorithm for this product");
    algorithm_ = found.algo;
    workspace_bytes_ = found.workspaceSize;
    return ok_status();
  }

  const Functions& f_;
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr, right_ = nullptr, out_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
  size_t workspace_bytes_ = 0;
};

}  // namespace

void LtProduct::load_soon() {
  static const bool kBegun = [] {
    try {
      std::thread([] { (void)functions(); }).detach();
    } catch (const std::system_error&) {  // no thread to be had: make() loads it
    }
    return true;
  }();
  (void)kBegun;
}

Result<std::unique_ptr<LtProduct>> LtProduct::make(const LtShape& shape, const DeviceState& device) {
  RETURN_IF_ERROR(functions().status());
  const Functions& f = *functions();
  if (shape.batches > INT32_MAX) return unavailable("so many matrix products");
  const Result<cublasLtHandle_t> handle = handle_of(f, device.device);
  if (!handle.ok()) return unavailable(handle.status().message());
  auto product = std::make_unique<Product>(f, *handle);
  if (Status chosen = product->choose(shape, device); !chosen.ok()) return unavailable(chosen.message());
  return std::unique_ptr<LtProduct>(std::move(product));
}

#endif

}  // namespace emplace::cuda
