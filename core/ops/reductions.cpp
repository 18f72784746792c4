// Sum, Mean, Prod, Max, Min, All, Any, L2Loss.
#include "core/ops/reduce_code.h"

namespace emplace {
namespace {

/// Float sums are kept in double from block to block.
template <class T>
using SumAccumulator = std::conditional_t<std::is_same_v<T, float>, double, T>;
template <class T>
using MeanAccumulator = std::conditional_t<std::is_same_v<T, int32_t>, int64_t, SumAccumulator<T>>;

struct Sum {
  static constexpr int kVectorBytes = 64;
  template <class T>
  using Accumulator = SumAccumulator<T>;
  template <class A>
  static A start() { return A(0); }
  template <class V>
  EMPLACE_INLINE static V combine(V a, V b) { return add(a, b); }
  template <class T, class A>
  static T result(A all, int64_t) { return static_cast<T>(all); }
};

/// Integers add up in 64 bits; the quotient is cut towards zero.
struct Mean : Sum {
  template <class T>
  using Accumulator = MeanAccumulator<T>;
  template <class T>
  using SamePartials = std::conditional_t<std::is_same_v<T, int32_t>, Mean, Sum>;
  template <class T, class A>
  static T result(A all, int64_t n) {
    if constexpr (std::is_integral_v<T>) return n == 0 ? T(0) : static_cast<T>(all / static_cast<A>(n));
    else if constexpr (kIsComplex<T>) return divide(all, T(static_cast<typename T::value_type>(n)));
    else return static_cast<T>(all / static_cast<A>(n));
  }
};

struct Prod {
  static constexpr int kVectorBytes = 64;
  template <class T>
  using Accumulator = T;
  template <class A>
  static A start() { return A(1); }
  template <class V>
  EMPLACE_INLINE static V combine(V a, V b) { return multiply(a, b); }
  template <class T, class A>
  static T result(A all, int64_t) { return all; }
};

struct Max {
  static constexpr int kVectorBytes = 32;  // g++ 12 takes comparisons of AVX-512 vectors apart
  template <class T>
  using Accumulator = T;
  template <class A>
  static A start() {
    return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
  }
  template <class V>
  EMPLACE_INLINE static V combine(V a, V b) { return maximum(a, b); }
  template <class T, class A>
  static T result(A all, int64_t) { return all; }
};
struct Min : Max {
  template <class A>
  static A start() {
    return std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
  }
  template <class V>
  EMPLACE_INLINE static V combine(V a, V b) { return minimum(a, b); }
};

struct All {
  template <class T>
  using Accumulator = bool;
  template <class A>
  static A start() { return true; }
  static bool combine(bool a, bool b) { return a & b; }
  template <class T, class A>
  static T result(A all, int64_t) { return all; }
};
struct Any : All {
  template <class A>
  static A start() { return false; }
  static bool combine(bool a, bool b) { return a | b; }
};

struct HalfSumOfSquares : Sum {
  template <class V>
  EMPLACE_INLINE static V map(V x) { return x * x; }
  template <class T, class A>
  static T result(A all, int64_t) { return static_cast<T>(all / 2); }
};

// The empty set of a narrow type has that type's limits, not those of the compute type.
template <class R, class S>
const ReduceCode& with_own_limits(const ReduceCode& wide) {
  static const ReduceCode kCode = [&wide] {
    ReduceCode code = wide;
    code.finish = [](const void* accumulators, int64_t count, int64_t n, void* out) {
      if (n == 0) *static_cast<S*>(out) = R::template start<S>();
      else real_reduce_code<R>(dtype_of<S>)->finish(accumulators, count, n, out);
    };
    return code;
  }();
  return kCode;
}

template <class R>
Result<std::unique_ptr<Kernel>> sum_like(const KernelInit& init) {
  const DType type = init.input_types[0];
  if (type == DType::kComplex64) return make_reduction(init, reduce_code_of<R, complex64>());
  if (type == DType::kComplex128) return make_reduction(init, reduce_code_of<R, complex128>());
  return make_reduction(init, *real_reduce_code<R>(type));
}

template <class R>
Result<std::unique_ptr<Kernel>> extremum(const KernelInit& init) {
  const ReduceCode& code = *real_reduce_code<R>(init.input_types[0]);
  switch (init.input_types[0]) {
    case DType::kInt8: return make_reduction(init, with_own_limits<R, int8_t>(code));
    case DType::kInt16: return make_reduction(init, with_own_limits<R, int16_t>(code));
    case DType::kUInt8: return make_reduction(init, with_own_limits<R, uint8_t>(code));
    case DType::kUInt16: return make_reduction(init, with_own_limits<R, uint16_t>(code));
    case DType::kUInt32: return make_reduction(init, with_own_limits<R, uint32_t>(code));
    default: return make_reduction(init, code);
  }
}

template <class R>
Result<std::unique_ptr<Kernel>> of_bools(const KernelInit& init) { return make_reduction(init, reduce_code_of<R, bool>()); }

Result<std::unique_ptr<Kernel>> l2_loss(const KernelInit& init) {
  switch (init.input_types[0]) {
    case DType::kDouble: return make_reduction(init, reduce_code_of<HalfSumOfSquares, double>(), true);
    case DType::kHalf: return make_reduction(init, converting_reduce_code<HalfSumOfSquares, float, half>(), true);
    case DType::kBFloat16: return make_reduction(init, converting_reduce_code<HalfSumOfSquares, float, bfloat16>(), true);
    default: return make_reduction(init, reduce_code_of<HalfSumOfSquares, float>(), true);
  }
}

OpDef reduction(std::string_view name, std::string_view doc) {
  return OpDef(name).doc(doc).shape(reduction_shape).value_inputs({1});
}
OpDef numeric(std::string_view name, std::string_view doc) {
  return reduction(name, doc)
      .sample("input=f32[2,3,4] uniform(-2,2); axis=[1]", 1e-6).sample("input=f32[3,5000] uniform(-2,2); axis=[1]", 1e-5)
      .sample("input=f32[100,3] uniform(-2,2); axis=[0]; keep_dims=true", 1e-5).sample("input=f32[0,3]; axis=[0]");
}

}  // namespace

OpDef sum_op() { return numeric("Sum", "The sum over the axes; integers wrap.").cpu(kNumbers, sum_like<Sum>); }
OpDef mean_op() { return numeric("Mean", "The mean over the axes.").cpu(kNumbers, sum_like<Mean>); }
OpDef prod_op() { return numeric("Prod", "The product over the axes; integers wrap.").cpu(kNumbers, sum_like<Prod>); }
OpDef max_op() { return numeric("Max", "The largest element over the axes; NaN if one is.").cpu(kRealNumbers, extremum<Max>); }
OpDef min_op() { return numeric("Min", "The smallest element over the axes; NaN if one is.").cpu(kRealNumbers, extremum<Min>); }
OpDef all_op() { return reduction("All", "Are all elements over the axes true?").cpu(of_bools<All>).sample("input=bool[2,3]; axis=[1]"); }
OpDef any_op() { return reduction("Any", "Is any element over the axes true?").cpu(of_bools<Any>).sample("input=bool[2,3]; axis=[1]"); }
OpDef l2_loss_op() {
  return OpDef("L2Loss").doc("Half the sum of the squares.").shape(shape_scalar).cpu(kFloating, l2_loss)
      .sample("t=f32[2,3] uniform(-2,2)", 1e-6);
}

}  // namespace emplace
