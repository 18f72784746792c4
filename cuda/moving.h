/// Kernels that only move elements are the CPU's (core/base/mover.h): what they copy and fill is enqueued instead.
///
///   table.add("Transpose", types, moving);
#pragma once

#include "core/base/mover.h"
#include "core/base/parallel.h"
#include "core/ops/linear/matrix_product.h"
#include "cuda/kernel_table.h"

namespace emplace::cuda {

/// Enqueues on a stream. Its first failure is kept.
class StreamMover final : public Parallel, public Mover {
 public:
  explicit StreamMover(cudaStream_t stream) : stream_(stream) {}

  Mover* mover() override { return this; }
  void copy(DType type, std::span<const Axis> axes, const void* in, void* out) override;
  void fill(DType type, const void* value, void* out, int64_t n) override;
  void add(DType type, std::span<const Axis> axes, const void* in, void* out) override;
  void multiply(DType type, int64_t m, int64_t n, int64_t k, const void* a, const void* b, void* out) override;
  const Status& status() const { return status_; }

 protected:
  /// Nobody may: the elements are out of the CPU's reach.
  void run_erased(int64_t n, double cost_ns, Body body, const void* closure) override;

 private:
  cudaStream_t stream_;
  Status status_;
};

/// Enqueues out[i, j, ...] = in[i, j, ...], as Mover::copy().
Status enqueue_copy(cudaStream_t stream, DType type, std::span<const Mover::Axis> axes, const void* in, void* out);
/// The same with +=, for the types of Mover::add() (cuda/ops/sums.cu).
Status enqueue_sum(cudaStream_t stream, DType type, std::span<const Mover::Axis> axes, const void* in, void* out);
/// out[m, n] = a[m, k] * b[k, n] (cuda/ops/matmul.cu).
Status enqueue_product(cudaStream_t stream, DType type, const ProductShape& shape, const void* a, const void* b,
                       void* out);
/// n elements of zero bytes.
Status enqueue_zeros(cudaStream_t stream, DType type, void* out, int64_t n);

/// Makes the variable's buffer one that nobody else holds, with the same elements. REQUIRES: the caller holds its
/// mutex.
Status own_variable(KernelContext& c, Variable& variable);

/// KernelMaker: the CPU's kernel of the node, with a StreamMover.
Result<std::unique_ptr<Kernel>> moving(const KernelInit& init);

}  // namespace emplace::cuda
