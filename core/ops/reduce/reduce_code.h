/// ReduceCode from a reduction over elements of a compute type (core/ops/kit/convert.h):
///
///   struct Sum {
///     template <class T> using Accumulator = ...;            // what partial results are kept in
///     template <class T> static T start();                   // of the empty set
///     template <class V> static V combine(V a, V b);         // elements, vectors of elements, accumulators
///     template <class T, class A> static T result(A all, int64_t n);
///     static constexpr int kVectorBytes = 64;
///   };
///
/// Optional: `template <class V> static V map(V x)`, applied to every element first (L2Loss squares), and
/// `template <class T> using SamePartials`: a reduction whose partial results over T are this one's (Mean's are Sum's).
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/ops/kit/convert.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/reduce/reduce.h"

namespace emplace {

template <class R, class V>
EMPLACE_INLINE V reduce_map(V x) {
  if constexpr (requires { R::map(x); })
    return R::map(x);
  else
    return x;
}

/// The reduction whose code makes R's partial results.
template <class R, class T>
constexpr auto partials_of() {
  if constexpr (requires { typename R::template SamePartials<T>; })
    return std::type_identity<typename R::template SamePartials<T>>{};
  else
    return std::type_identity<R>{};
}
template <class R, class T>
using Partials = typename decltype(partials_of<R, T>())::type;

/// Clones per processor are for the types that are summed most.
template <class T>
constexpr bool kClonedReduction = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int32_t>;

/// An element that may lie at any address: a large constant is where its file has it (core/op/loose_inputs.h).
template <class T>
EMPLACE_INLINE T load_loose(const T* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

template <class R, class T>
EMPLACE_INLINE typename R::template Accumulator<T> scalar_partial(const T* x, int64_t n) {
  using A = typename R::template Accumulator<T>;
  A all = R::template start<A>();
  for (int64_t i = 0; i < n; ++i) all = R::combine(all, static_cast<A>(reduce_map<R>(load_loose(x + i))));
  return all;
}

/// As many elements as R::kVectorBytes hold, in registers of `kBytes` each: g++ 12 keeps vectors that are wider than a
/// register in memory. What is done to each element hangs on neither.
template <class R, class T, int kBytes>
struct PartialVector {
  static constexpr int kParts = R::kVectorBytes > kBytes ? R::kVectorBytes / kBytes : 1;
  typedef T Part __attribute__((vector_size(R::kVectorBytes / kParts)));
  Part parts[kParts];

  EMPLACE_INLINE void clear() {
#pragma GCC unroll 4
    for (int k = 0; k < kParts; ++k) parts[k] = R::template start<T>() - Part{};
  }
  EMPLACE_INLINE void add(const T* x) {
#pragma GCC unroll 4
    for (int k = 0; k < kParts; ++k) {
      Part v;
      std::memcpy(&v, x + k * static_cast<int>(sizeof(Part) / sizeof(T)), sizeof(v));
      parts[k] = R::combine(parts[k], reduce_map<R>(v));
    }
  }
  EMPLACE_INLINE void combine(const PartialVector& other) {
#pragma GCC unroll 4
    for (int k = 0; k < kParts; ++k) parts[k] = R::combine(parts[k], other.parts[k]);
  }
};

/// Four vectors of running results, then a tree over them and their lanes. R::kVectorBytes is 64 (an AVX-512 register,
/// or several smaller ones) unless the operation suits smaller ones better.
template <class R, class T, int kBytes>
EMPLACE_INLINE void vector_partial_body(const void* in, int64_t n, void* accumulator) {
  using V = PartialVector<R, T, kBytes>;
  using A = typename R::template Accumulator<T>;
  constexpr int64_t kWidth = R::kVectorBytes / static_cast<int64_t>(sizeof(T));
  const T* x = static_cast<const T*>(in);
  if (n < kWidth) {
    const A all = scalar_partial<R, T>(x, n);
    std::memcpy(accumulator, &all, sizeof(A));
    return;
  }
  V r0, r1, r2, r3;
  r0.clear(), r1.clear(), r2.clear(), r3.clear();
  int64_t i = 0;
  for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
    r0.add(x + i);
    r1.add(x + i + kWidth);
    r2.add(x + i + 2 * kWidth);
    r3.add(x + i + 3 * kWidth);
  }
  for (; i + kWidth <= n; i += kWidth) r0.add(x + i);
  T lanes[kWidth];
  if (i < n) {  // the rest, filled up with what changes nothing
    std::fill_n(lanes, kWidth, R::template start<T>());
    std::memcpy(lanes, x + i, static_cast<size_t>(n - i) * sizeof(T));
    r1.add(lanes);
  }
  r0.combine(r1);
  r2.combine(r3);
  r0.combine(r2);
  std::memcpy(lanes, &r0, sizeof(lanes));
  for (int64_t width = kWidth / 2; width > 0; width /= 2) {
    for (int64_t lane = 0; lane < width; ++lane) lanes[lane] = R::combine(lanes[lane], lanes[lane + width]);
  }
  const A all = static_cast<A>(lanes[0]);
  std::memcpy(accumulator, &all, sizeof(A));
}
template <class R, class T>
void vector_partial_base(const void* in, int64_t n, void* a) {
  vector_partial_body<R, T, 16>(in, n, a);
}
template <class R, class T>
EMPLACE_TARGET_V3 void vector_partial_v3(const void* in, int64_t n, void* a) {
  vector_partial_body<R, T, 32>(in, n, a);
}
template <class R, class T>
EMPLACE_TARGET_V4 void vector_partial_v4(const void* in, int64_t n, void* a) {
  vector_partial_body<R, T, 64>(in, n, a);
}

/// A few rows at a time into running results of the element type, these into the accumulators.
template <class R, class T>
EMPLACE_INLINE void columns_body(const void* in, int64_t rows, int64_t stride, int64_t cols, void* accumulators) {
  using A = typename R::template Accumulator<T>;
  constexpr int64_t kCols = 256, kRows = 64;
  const T* x = static_cast<const T*>(in);
  A* all = static_cast<A*>(accumulators);
  T running[kCols];
  for (int64_t first = 0; first < rows; first += kRows) {
    const int64_t end = std::min(rows, first + kRows);
    for (int64_t j = 0; j < cols; ++j) running[j] = reduce_map<R>(load_loose(x + first * stride + j));
    int64_t r = first + 1;
    for (; r + 4 <= end; r += 4) {
      const T *x0 = x + r * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) {
        const T pair = R::combine(reduce_map<R>(load_loose(x0 + j)), reduce_map<R>(load_loose(x1 + j)));
        running[j] = R::combine(running[j], R::combine(pair, R::combine(reduce_map<R>(load_loose(x2 + j)),
                                                                        reduce_map<R>(load_loose(x3 + j)))));
      }
    }
    for (; r < end; ++r) {
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j)
        running[j] = R::combine(running[j], reduce_map<R>(load_loose(x + r * stride + j)));
    }
    for (int64_t j = 0; j < cols; ++j) all[j] = R::combine(all[j], static_cast<A>(running[j]));
  }
}
/// Where a running result of the element type would not do (wide integer sums).
template <class R, class T>
EMPLACE_INLINE void wide_columns_body(const void* in, int64_t rows, int64_t stride, int64_t cols, void* accumulators) {
  using A = typename R::template Accumulator<T>;
  const T* x = static_cast<const T*>(in);
  A* all = static_cast<A*>(accumulators);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < cols; ++j) all[j] = R::combine(all[j], static_cast<A>(reduce_map<R>(x[r * stride + j])));
  }
}
template <class R, class T>
void columns_base(const void* in, int64_t rows, int64_t stride, int64_t cols, void* a) {
  columns_body<R, T>(in, rows, stride, cols, a);
}
template <class R, class T>
EMPLACE_TARGET_V3 void columns_v3(const void* in, int64_t rows, int64_t stride, int64_t cols, void* a) {
  columns_body<R, T>(in, rows, stride, cols, a);
}
template <class R, class T>
EMPLACE_TARGET_V4 void columns_v4(const void* in, int64_t rows, int64_t stride, int64_t cols, void* a) {
  columns_body<R, T>(in, rows, stride, cols, a);
}
template <class R, class T>
void wide_columns(const void* in, int64_t rows, int64_t stride, int64_t cols, void* a) {
  wide_columns_body<R, T>(in, rows, stride, cols, a);
}

/// Partial results of elements of a compute type.
template <class P, class T>
ReduceCode partial_code() {
  using A = typename P::template Accumulator<T>;
  // Partial results in the element type are fine unless the accumulator is there to hold more.
  constexpr bool kInElements = std::is_same_v<A, T> || std::is_floating_point_v<T>;
  constexpr bool kVector = kInElements && !kIsComplex<T> && !std::is_same_v<T, bool>;
  ReduceCode code;
  code.accumulator_bytes = sizeof(A);
  if constexpr (kVector && kClonedReduction<T>) {
    code.partial =
        for_isa<decltype(code.partial)>(vector_partial_base<P, T>, vector_partial_v3<P, T>, vector_partial_v4<P, T>);
    code.columns = for_isa<decltype(code.columns)>(columns_base<P, T>, columns_v3<P, T>, columns_v4<P, T>);
  } else {
    if constexpr (kVector)
      code.partial = vector_partial_base<P, T>;
    else
      code.partial = [](const void* in, int64_t n, void* accumulator) {
        const A all = scalar_partial<P, T>(static_cast<const T*>(in), n);
        std::memcpy(accumulator, &all, sizeof(A));
      };
    if constexpr (kInElements)
      code.columns = columns_base<P, T>;
    else
      code.columns = wide_columns<P, T>;
  }
  code.merge = [](void* into, const void* other) {
    A a, b;
    std::memcpy(&a, into, sizeof(A));
    std::memcpy(&b, other, sizeof(A));
    a = P::combine(a, b);
    std::memcpy(into, &a, sizeof(A));
  };
  return code;
}

/// The code for elements of a compute type.
template <class R, class T>
const ReduceCode& reduce_code_of() {
  using A = typename R::template Accumulator<T>;
  static const ReduceCode kCode = [] {
    ReduceCode code = partial_code<Partials<R, T>, T>();
    code.finish = [](const void* accumulators, int64_t count, int64_t n, void* out) {
      const char* next = static_cast<const char*>(accumulators);
      A all, more;
      std::memcpy(&all, next, sizeof(A));
      for (int64_t i = 1; i < count; ++i) {
        std::memcpy(&more, next + i * static_cast<int64_t>(sizeof(A)), sizeof(A));
        all = R::combine(all, more);
      }
      *static_cast<T*>(out) = R::template result<T>(all, n);
    };
    return code;
  }();
  return kCode;
}

/// The code for elements of type S that are reduced as elements of the compute type T.
template <class R, class T, class S>
const ReduceCode& converting_reduce_code() {
  static const ReduceCode kCode = [] {
    ReduceCode code = reduce_code_of<R, T>();
    code.cost_ns = 0.2;
    code.partial = [](const void* in, int64_t n, void* accumulator) {
      static const ConvertFunction kWiden = widening(dtype_of<S>);
      alignas(64) T wide[BlockReduction::kBlock];
      if (n > 0) kWiden(in, wide, n);
      reduce_code_of<R, T>().partial(wide, n, accumulator);
    };
    code.columns = [](const void* in, int64_t rows, int64_t stride, int64_t cols, void* accumulators) {
      static const ConvertFunction kWiden = widening(dtype_of<S>);
      constexpr int64_t kRows = 16;
      alignas(64) T wide[kRows * 256];
      for (int64_t first = 0; first < rows; first += kRows) {
        const int64_t count = std::min(kRows, rows - first);
        for (int64_t r = 0; r < count; ++r)
          kWiden(static_cast<const S*>(in) + (first + r) * stride, wide + r * cols, cols);
        reduce_code_of<R, T>().columns(wide, count, cols, cols, accumulators);
      }
    };
    code.finish = [](const void* accumulators, int64_t count, int64_t n, void* out) {
      static const ConvertFunction kNarrow = narrowing(dtype_of<S>);
      T wide;
      reduce_code_of<R, T>().finish(accumulators, count, n, &wide);
      kNarrow(&wide, out, 1);
    };
    return code;
  }();
  return kCode;
}

/// Null if there is no code for that type.
template <class R>
const ReduceCode* real_reduce_code(DType type) {
  switch (type) {
    case DType::kFloat:
      return &reduce_code_of<R, float>();
    case DType::kDouble:
      return &reduce_code_of<R, double>();
    case DType::kInt32:
      return &reduce_code_of<R, int32_t>();
    case DType::kInt64:
      return &reduce_code_of<R, int64_t>();
    case DType::kUInt64:
      return &reduce_code_of<R, uint64_t>();
    case DType::kHalf:
      return &converting_reduce_code<R, float, half>();
    case DType::kBFloat16:
      return &converting_reduce_code<R, float, bfloat16>();
    case DType::kInt8:
      return &converting_reduce_code<R, int32_t, int8_t>();
    case DType::kInt16:
      return &converting_reduce_code<R, int32_t, int16_t>();
    case DType::kUInt8:
      return &converting_reduce_code<R, int32_t, uint8_t>();
    case DType::kUInt16:
      return &converting_reduce_code<R, int32_t, uint16_t>();
    case DType::kUInt32:
      return &converting_reduce_code<R, int64_t, uint32_t>();
    default:
      return nullptr;
  }
}

}  // namespace emplace
