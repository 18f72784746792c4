/// The part of cuBLASLt 13 that is called, with its names and values, so that the calls can be tested where the library
/// has no headers, and no GPU; cublaslt_api.cpp holds it to them where it has.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/status.h"

namespace emplace::cuda::lt {

using Handle = struct LtHandle*;
using Desc = struct LtDesc*;
using Layout = struct LtLayout*;
using Preference = struct LtPreference*;
using StatusCode = int;  // 0: fine

inline constexpr StatusCode kInvalidValue = 7, kNotSupported = 15;

enum class Data : int { kFloat = 0, kDouble = 1, kHalf = 2, kComplex64 = 4, kComplex128 = 5, kBFloat16 = 14 };
enum class Compute : int { kFloat = 68, kDouble = 70, kTf32 = 77 };
enum class Operation : int { kNone = 0, kTransposed = 1, kConjugated = 2 };
enum class DescAttribute : int { kTransA = 3, kTransB = 4 };
enum class LayoutAttribute : int { kBatchCount = 5, kBatchStep = 6 };
enum class PreferenceAttribute : int {
  kWorkspaceBytes = 1,
  kReductionSchemes = 3,
  kAlignmentA = 5,
  kAlignmentB = 6,
  kAlignmentC = 7,
  kAlignmentD = 8,
};
/// Where an algorithm that splits the sums keeps their parts; bits of kReductionSchemes.
enum Scheme : uint32_t { kInPlace = 1, kInComputeType = 2, kInOutputType = 4 };

struct Algorithm {
  std::array<uint64_t, 8> data{};
};
struct Found {
  Algorithm algorithm;
  size_t workspace_bytes = 0;
  StatusCode state = 0;
  float waves = 0;
  std::array<int, 4> reserved{};
};

/// Matrices are column-major.
struct Functions {
  StatusCode (*create)(Handle*) = nullptr;
  StatusCode (*desc_create)(Desc*, Compute, Data scale) = nullptr;
  StatusCode (*desc_destroy)(Desc) = nullptr;
  StatusCode (*desc_set)(Desc, DescAttribute, const void* value, size_t bytes) = nullptr;
  StatusCode (*layout_create)(Layout*, Data, uint64_t rows, uint64_t columns, int64_t leading) = nullptr;
  StatusCode (*layout_destroy)(Layout) = nullptr;
  StatusCode (*layout_set)(Layout, LayoutAttribute, const void* value, size_t bytes) = nullptr;
  StatusCode (*preference_create)(Preference*) = nullptr;
  StatusCode (*preference_destroy)(Preference) = nullptr;
  StatusCode (*preference_set)(Preference, PreferenceAttribute, const void* value, size_t bytes) = nullptr;
  StatusCode (*heuristic)(Handle, Desc, Layout a, Layout b, Layout c, Layout d, Preference, int wanted, Found* found,
                          int* count) = nullptr;
  StatusCode (*matmul)(Handle, Desc, const void* alpha, const void* a, Layout, const void* b, Layout, const void* beta,
                       const void* c, Layout, void* d, Layout, const Algorithm*, void* workspace, size_t bytes,
                       cudaStream_t) = nullptr;
};

/// Unavailable: no library, or one without a function. The stand-in has one where EMPLACE_STANDIN_CUBLASLT is set.
Status load(Functions& functions);

// Does it take long to load, and is whoever has a GPU told where there is none?
#ifdef EMPLACE_STANDIN
inline constexpr bool kReal = false;
#else
inline constexpr bool kReal = true;
#endif

}  // namespace emplace::cuda::lt
