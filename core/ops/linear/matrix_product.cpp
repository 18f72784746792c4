#include "core/ops/linear/matrix_product.h"

#include <algorithm>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/base/mover.h"
#include "core/ops/gemm/gemm.h"
#include "core/ops/kit/convert.h"
#include "core/ops/kit/numeric.h"

namespace emplace {
namespace {

/// A row-major copy of `op(x)` in the compute type.
template <class T>
void pack(const T* x, int64_t rows, int64_t cols, bool transpose, bool conjugate, T* to) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      T value = transpose ? x[c * rows + r] : x[r * cols + c];
      if constexpr (kIsComplex<T>) {
        if (conjugate) value = std::conj(value);
      }
      to[r * cols + c] = value;
    }
  }
  static_cast<void>(conjugate);
}

/// Rows [begin, end) of out = a * b, all packed. The inner loop runs along a row of b, so it vectorises.
template <class T>
void multiply_rows(const T* a, const T* b, T* out, int64_t begin, int64_t end, int64_t n, int64_t k) {
  for (int64_t r = begin; r < end; ++r) {
    T* row = out + r * n;
    std::fill_n(row, n, T(0));
    for (int64_t p = 0; p < k; ++p) {
      const T factor = a[r * k + p];
      const T* other = b + p * n;
#pragma GCC ivdep
      for (int64_t j = 0; j < n; ++j) row[j] = add(row[j], multiply(factor, other[j]));
    }
  }
}

/// `x` as a packed matrix: itself, or a copy in `scratch`.
template <class T>
Result<const T*> packed(KernelContext& c, const void* x, int64_t rows, int64_t cols, bool transpose, bool conjugate,
                        Tensor& scratch) {
  if (!transpose && !conjugate) return static_cast<const T*>(x);
  ASSIGN_OR_RETURN(scratch, c.allocate_scratch(dtype_of<T>, Shape{rows, cols}));
  pack(static_cast<const T*>(x), rows, cols, transpose, conjugate, scratch.data<T>());
  return const_cast<const T*>(scratch.data<T>());
}

/// For the types without tile kernels.
template <class T>
Status product_in(KernelContext& c, const ProductShape& s, const void* a, const void* b, void* out) {
  Tensor copy_a, copy_b;
  ASSIGN_OR_RETURN(const T* left, packed<T>(c, a, s.m, s.k, s.transpose_a, s.conjugate_a, copy_a));
  ASSIGN_OR_RETURN(const T* right, packed<T>(c, b, s.k, s.n, s.transpose_b, s.conjugate_b, copy_b));
  c.parallel_for(s.m, static_cast<double>(s.n * s.k) * 0.1, [&](int64_t begin, int64_t end) {
    multiply_rows(left, right, static_cast<T*>(out), begin, end, s.n, s.k);
  });
  return ok_status();
}

// Elements in the type that is computed in: themselves, or a widened copy in `copy`.
Result<const void*> widened(KernelContext& c, DType type, const void* x, int64_t count, Tensor& copy) {
  ConvertFunction widen = widening(type);
  if (!widen) return x;
  ASSIGN_OR_RETURN(copy, c.allocate_scratch(compute_type(type), Shape{count}));
  widen(x, copy.raw(), count);
  return const_cast<const void*>(copy.raw());
}

}  // namespace

void MatrixProduct::prepare(DType type, const ProductShape& shape) {
  type_ = type;
  shape_ = shape;
  packed_b_ = Tensor();
  have_b_ = false;
}

// T: the type that the tile kernels compute in, of the same size as compute_type().
template <class T>
Status MatrixProduct::run_tiled(KernelContext& c, const void* a, const void* b, void* out, bool same_b, RowSink* sink) {
  const ProductShape& s = shape_;
  const gemm::Gemm<T> product(s.m, s.n, s.k, s.transpose_a, s.transpose_b);
  const DType storage = compute_type(type_);
  Tensor wide_a, wide_b, wide_out;
  ASSIGN_OR_RETURN(const void* left, widened(c, type_, a, s.m * s.k, wide_a));
  const void* right = nullptr;
  const int64_t packed_size = !same_b && product.passes_b_once() ? 0 : product.packed_b_size();
  if (packed_size > 0 && !packed_b_.valid()) {
    ASSIGN_OR_RETURN(packed_b_, c.allocate_persistent(storage, Shape{packed_size}));
  }
  if (packed_size == 0 || !same_b || !have_b_) {
    ASSIGN_OR_RETURN(right, widened(c, type_, b, s.k * s.n, wide_b));
    if (packed_size > 0) product.pack_b(*c.parallel_, static_cast<const T*>(right), static_cast<T*>(packed_b_.raw()));
    have_b_ = packed_size > 0;
  }
  const ConvertFunction narrow = narrowing(type_);
  void* result = out;
  if (narrow) {
    ASSIGN_OR_RETURN(wide_out, c.allocate_scratch(storage, Shape{s.m, s.n}));
    result = wide_out.raw();
  }
  product.run(*c.parallel_, static_cast<const T*>(left), static_cast<const T*>(right),
              packed_size > 0 ? static_cast<const T*>(packed_b_.raw()) : nullptr, static_cast<T*>(result), sink);
  if (narrow) narrow(result, out, s.m * s.n);
  return ok_status();
}

Workspace MatrixProduct::workspace() const {
  const ProductShape& s = shape_;
  const DType type = compute_type(type_);
  const auto size = static_cast<int64_t>(dtype_size(type));
  Workspace w;
  auto tiled = [&]<class T>(T) {
    w.kept = gemm::Gemm<T>(s.m, s.n, s.k, s.transpose_a, s.transpose_b).packed_b_size() * size;
  };
  switch (type) {
    case DType::kFloat:
      tiled(float{});
      break;
    case DType::kDouble:
      tiled(double{});
      break;
    case DType::kInt32:
      tiled(uint32_t{});
      break;
    default:
      w.scratch =
          ((s.transpose_a || s.conjugate_a ? s.m * s.k : 0) + (s.transpose_b || s.conjugate_b ? s.k * s.n : 0)) * size;
      return w;
  }
  if (type != type_) w.scratch = (s.m * s.k + s.k * s.n + s.m * s.n) * size;
  return w;
}

std::string MatrixProduct::describe() const {
  const ProductShape& s = shape_;
  switch (compute_type(type_)) {
    case DType::kFloat:
      return gemm::Gemm<float>(s.m, s.n, s.k, s.transpose_a, s.transpose_b).describe();
    case DType::kDouble:
      return gemm::Gemm<double>(s.m, s.n, s.k, s.transpose_a, s.transpose_b).describe();
    case DType::kInt32:
      return gemm::Gemm<uint32_t>(s.m, s.n, s.k, s.transpose_a, s.transpose_b).describe();
    default:
      return "row by row, by plain loops: there are no tiles of this type";
  }
}

bool MatrixProduct::hands_on_rows() const {
  return type_ == DType::kFloat || type_ == DType::kDouble || type_ == DType::kInt32;
}

Status MatrixProduct::run(KernelContext& c, const void* a, const void* b, void* out, bool same_b, RowSink* sink) {
  if (Mover* mover = c.parallel_->mover()) {
    EMPLACE_ASSERT(!shape_.transpose_a && !shape_.transpose_b, "movers multiply matrices as they lie");
    mover->multiply(type_, shape_.m, shape_.n, shape_.k, a, b, out);
    return ok_status();
  }
  switch (compute_type(type_)) {
    case DType::kFloat:
      return run_tiled<float>(c, a, b, out, same_b, sink);
    case DType::kDouble:
      return run_tiled<double>(c, a, b, out, same_b, sink);
    case DType::kInt32:
      return run_tiled<uint32_t>(c, a, b, out, same_b, sink);
    case DType::kInt64:
      return product_in<int64_t>(c, shape_, a, b, out);
    case DType::kComplex64:
      return product_in<complex64>(c, shape_, a, b, out);
    case DType::kComplex128:
      return product_in<complex128>(c, shape_, a, b, out);
    default:
      return internal_error(cat("no matrix multiplication for ", dtype_tf_name(type_)));
  }
}

}  // namespace emplace
