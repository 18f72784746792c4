/// Matrix products by cuBLASLt, which is loaded at the first one. One LtProduct is one shape: its algorithm is chosen
/// once, so every run gives the same bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <numeric>

#include "core/op/kernel.h"
#include "core/ops/linear/matrix_product.h"
#include "cuda/cublaslt_api.h"
#include "cuda/device_state.h"

namespace emplace::cuda {

struct LtShape {
  DType type = DType::kFloat;
  ProductShape product;
  int64_t batches = 1;
  int64_t a_step = 0, b_step = 0, out_step = 0;  // elements from one batch to the next; 0: the same for all
  bool from_any = false;                         // batches begin at any matrix, not only at the first
};

inline constexpr uint64_t kBufferAlignment = 16;  // what every tensor has at least

/// Of matrices so many bytes apart, the first of which lies as evenly as a tensor.
inline uint32_t matrix_alignment(int64_t step_bytes) {
  return static_cast<uint32_t>(std::gcd(kBufferAlignment, static_cast<uint64_t>(step_bytes)));
}
/// Of those of a shape: `step` elements apart, and of so many elements.
inline uint32_t matrix_alignment(const LtShape& shape, int64_t step, int64_t elements) {
  const auto bytes = static_cast<int64_t>(storage_size(shape.type));
  return matrix_alignment(shape.from_any ? std::gcd(step, elements) * bytes : step * bytes);
}

class LtProduct {
 public:
  virtual ~LtProduct() = default;
  /// Device memory that run() needs.
  virtual size_t workspace_bytes() const = 0;
  virtual Status run(cudaStream_t stream, const void* a, const void* b, void* out, void* workspace) = 0;

  /// Begins to load the library by another thread, once. make() waits for it.
  static void load_soon();
  /// Unavailable: no library, which is said once in a warning, or it has nothing for this shape.
  static Result<std::unique_ptr<LtProduct>> make(const LtShape& shape, const DeviceState& device);
  /// By these functions, which outlive it.
  static Result<std::unique_ptr<LtProduct>> make(const lt::Functions& functions, const LtShape& shape,
                                                 const DeviceState& device);
};

}  // namespace emplace::cuda
