#include "cuda/cublaslt_api.h"

#ifndef EMPLACE_STANDIN

#include "cuda/library.h"
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif

namespace emplace::cuda::lt {

#if __has_include(<cublasLt.h>)
namespace {

template <class Ours, class Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  static_assert(sizeof(Ours) == sizeof(Theirs));
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
template <class... Ours, class... Theirs>
constexpr bool alike(StatusCode (*)(Ours...), cublasStatus_t (*)(Theirs...)) {
  return ((sizeof(Ours) == sizeof(Theirs)) && ...);
}

static_assert(CUBLAS_VER_MAJOR == 13 && same(0, CUBLAS_STATUS_SUCCESS) &&
              same(kInvalidValue, CUBLAS_STATUS_INVALID_VALUE) && same(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(same(Data::kFloat, CUDA_R_32F) && same(Data::kDouble, CUDA_R_64F) && same(Data::kHalf, CUDA_R_16F) &&
              same(Data::kComplex64, CUDA_C_32F) && same(Data::kComplex128, CUDA_C_64F) &&
              same(Data::kBFloat16, CUDA_R_16BF));
static_assert(same(Compute::kFloat, CUBLAS_COMPUTE_32F) && same(Compute::kDouble, CUBLAS_COMPUTE_64F) &&
              same(Compute::kTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(same(Operation::kNone, CUBLAS_OP_N) && same(Operation::kTransposed, CUBLAS_OP_T) &&
              same(Operation::kConjugated, CUBLAS_OP_C));
static_assert(same(DescAttribute::kTransA, CUBLASLT_MATMUL_DESC_TRANSA) &&
              same(DescAttribute::kTransB, CUBLASLT_MATMUL_DESC_TRANSB) &&
              same(LayoutAttribute::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) &&
              same(LayoutAttribute::kBatchStep, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(same(PreferenceAttribute::kWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) &&
              same(PreferenceAttribute::kReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) &&
              same(PreferenceAttribute::kAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES) &&
              same(PreferenceAttribute::kAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES) &&
              same(PreferenceAttribute::kAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES) &&
              same(PreferenceAttribute::kAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
static_assert(CUBLASLT_REDUCTION_SCHEME_NONE == 0 && same(kInPlace, CUBLASLT_REDUCTION_SCHEME_INPLACE) &&
              same(kInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) &&
              same(kInOutputType, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t) &&
              sizeof(Found) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(Found, workspace_bytes) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(Found, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(alike(decltype(Functions::create){}, decltype(&cublasLtCreate){}) &&
              alike(decltype(Functions::desc_create){}, decltype(&cublasLtMatmulDescCreate){}) &&
              alike(decltype(Functions::desc_destroy){}, decltype(&cublasLtMatmulDescDestroy){}) &&
              alike(decltype(Functions::desc_set){}, decltype(&cublasLtMatmulDescSetAttribute){}) &&
              alike(decltype(Functions::layout_create){}, decltype(&cublasLtMatrixLayoutCreate){}) &&
              alike(decltype(Functions::layout_destroy){}, decltype(&cublasLtMatrixLayoutDestroy){}) &&
              alike(decltype(Functions::layout_set){}, decltype(&cublasLtMatrixLayoutSetAttribute){}) &&
              alike(decltype(Functions::preference_create){}, decltype(&cublasLtMatmulPreferenceCreate){}) &&
              alike(decltype(Functions::preference_destroy){}, decltype(&cublasLtMatmulPreferenceDestroy){}) &&
              alike(decltype(Functions::preference_set){}, decltype(&cublasLtMatmulPreferenceSetAttribute){}) &&
              alike(decltype(Functions::heuristic){}, decltype(&cublasLtMatmulAlgoGetHeuristic){}) &&
              alike(decltype(Functions::matmul){}, decltype(&cublasLtMatmul){}));

}  // namespace
#endif

Status load(Functions& f) {
  ASSIGN_OR_RETURN(const Library library, Library::open("libcublasLt.so.13"));
  RETURN_IF_ERROR(library.find("cublasLtCreate", f.create));
  RETURN_IF_ERROR(library.find("cublasLtMatmulDescCreate", f.desc_create));
  RETURN_IF_ERROR(library.find("cublasLtMatmulDescDestroy", f.desc_destroy));
  RETURN_IF_ERROR(library.find("cublasLtMatmulDescSetAttribute", f.desc_set));
  RETURN_IF_ERROR(library.find("cublasLtMatrixLayoutCreate", f.layout_create));
  RETURN_IF_ERROR(library.find("cublasLtMatrixLayoutDestroy", f.layout_destroy));
  RETURN_IF_ERROR(library.find("cublasLtMatrixLayoutSetAttribute", f.layout_set));
  RETURN_IF_ERROR(library.find("cublasLtMatmulPreferenceCreate", f.preference_create));
  RETURN_IF_ERROR(library.find("cublasLtMatmulPreferenceDestroy", f.preference_destroy));
  RETURN_IF_ERROR(library.find("cublasLtMatmulPreferenceSetAttribute", f.preference_set));
  RETURN_IF_ERROR(library.find("cublasLtMatmulAlgoGetHeuristic", f.heuristic));
  return library.find("cublasLtMatmul", f.matmul);
}

}  // namespace emplace::cuda::lt

#endif
