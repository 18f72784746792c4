#include "core/ops/matrix_product.h"

#include <algorithm>
#include <vector>

#include "core/base/cat.h"
#include "core/ops/convert.h"
#include "core/ops/numeric.h"

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

/// `x` as a packed matrix of T: itself, or a copy in `scratch`.
template <class T>
Result<const T*> packed(KernelContext& c, DType type, const void* x, int64_t rows, int64_t cols, bool transpose,
                        bool conjugate, std::vector<Tensor>& scratch) {
  const void* wide = x;
  if (ConvertFunction widen = widening(type)) {
    ASSIGN_OR_RETURN(Tensor copy, c.allocate_scratch(dtype_of<T>, Shape{rows, cols}));
    widen(x, copy.raw(), rows * cols);
    wide = copy.raw();
    scratch.push_back(std::move(copy));
  }
  if (!transpose && !conjugate) return static_cast<const T*>(wide);
  ASSIGN_OR_RETURN(Tensor copy, c.allocate_scratch(dtype_of<T>, Shape{rows, cols}));
  pack(static_cast<const T*>(wide), rows, cols, transpose, conjugate, copy.data<T>());
  scratch.push_back(std::move(copy));
  return static_cast<const T*>(scratch.back().data<T>());
}

template <class T>
Status product_in(KernelContext& c, DType type, const ProductShape& s, const void* a, const void* b, void* out) {
  std::vector<Tensor> scratch;
  ASSIGN_OR_RETURN(const T* left, packed<T>(c, type, a, s.m, s.k, s.transpose_a, s.conjugate_a, scratch));
  ASSIGN_OR_RETURN(const T* right, packed<T>(c, type, b, s.k, s.n, s.transpose_b, s.conjugate_b, scratch));
  T* product = static_cast<T*>(out);
  const ConvertFunction narrow = narrowing(type);
  if (narrow) {
    ASSIGN_OR_RETURN(Tensor wide, c.allocate_scratch(dtype_of<T>, Shape{s.m, s.n}));
    product = wide.data<T>();
    scratch.push_back(std::move(wide));
  }
  c.parallel_for(s.m, static_cast<double>(s.n * s.k) * 0.1, [&](int64_t begin, int64_t end) {
    multiply_rows(left, right, product, begin, end, s.n, s.k);
  });
  if (narrow) narrow(product, out, s.m * s.n);
  return ok_status();
}

}  // namespace

Status matrix_product(KernelContext& c, DType type, const ProductShape& shape, const void* a, const void* b, void* out) {
  switch (compute_type(type)) {
    case DType::kFloat: return product_in<float>(c, type, shape, a, b, out);
    case DType::kDouble: return product_in<double>(c, type, shape, a, b, out);
    case DType::kInt32: return product_in<int32_t>(c, type, shape, a, b, out);
    case DType::kInt64: return product_in<int64_t>(c, type, shape, a, b, out);
    case DType::kComplex64: return product_in<complex64>(c, type, shape, a, b, out);
    case DType::kComplex128: return product_in<complex128>(c, type, shape, a, b, out);
    default: return internal_error(cat("no matrix multiplication for ", dtype_tf_name(type)));
  }
}

}  // namespace emplace
