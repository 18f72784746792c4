/// Matrix multiplication of row-major matrices, for every number type: the inner function of MatMul and BatchMatMul.
#pragma once

#include <cstdint>
#include <string>

#include "core/op/kernel.h"

namespace emplace {

/// One product out[m,n] = op(a)[m,k] * op(b)[k,n]; op() is the stored matrix, transposed, or transposed and conjugated.
struct ProductShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool conjugate_a = false, conjugate_b = false;  // complex types only
};

/// The products of one node. Float, double and integers up to 32 bits go through core/ops/gemm; the rest through
/// plain loops. Not thread-safe: one product at a time; a product splits its work with c.parallel_for().
class MatrixProduct {
 public:
  /// REQUIRES: type among the numbers that MatMul has kernels for.
  void prepare(DType type, const ProductShape& shape);
  /// All three matrices have elements of the type given. An empty sum (k = 0) is zero. `same_b`: b holds what it held
  /// at the last call, so that what was derived from it then is used again.
  Status run(KernelContext& c, const void* a, const void* b, void* out, bool same_b = false, RowSink* sink = nullptr);
  /// Of one product.
  Workspace workspace() const;
  /// The way that was chosen, and why.
  std::string describe() const;
  /// Can a sink be told of rows?
  bool hands_on_rows() const;

 private:
  template <class T>
  Status run_tiled(KernelContext& c, const void* a, const void* b, void* out, bool same_b, RowSink* sink);

  DType type_ = DType::kInvalid;
  ProductShape shape_;
  Tensor packed_b_;
  bool have_b_ = false;
};

}  // namespace emplace
