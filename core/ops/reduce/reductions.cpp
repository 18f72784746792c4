// Sum, Mean, Prod, Max, Min, All, Any, L2Loss, EuclideanNorm.
#include <algorithm>
#include <cmath>

#include "core/op/gradient_context.h"
#include "core/ops/kit/with_real.h"
#include "core/ops/reduce/reduce_code.h"

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
  static A start() {
    return A(0);
  }
  template <class V>
  EMPLACE_INLINE static V combine(V a, V b) {
    return add(a, b);
  }
  template <class T, class A>
  static T result(A all, int64_t) {
    return static_cast<T>(all);
  }
};

/// Integers add up in 64 bits; the quotient is cut towards zero. Of nothing it is NaN, but 0 for complex numbers.
struct Mean : Sum {
  template <class T>
  using Accumulator = MeanAccumulator<T>;
  template <class T>
  using SamePartials = std::conditional_t<std::is_same_v<T, int32_t>, Mean, Sum>;
  template <class T, class A>
  static T result(A all, int64_t n) {
    if constexpr (std::is_integral_v<T>)
      return n == 0 ? T(0) : static_cast<T>(all / static_cast<A>(n));
    else if constexpr (kIsComplex<T>)
      return n == 0 ? T(0) : divide(all, T(static_cast<typename T::value_type>(n)));
    else
      return static_cast<T>(all / static_cast<A>(n));
  }
};

struct Prod {
  static constexpr int kVectorBytes = 64;
  template <class T>
  using Accumulator = T;
  template <class A>
  static A start() {
    return A(1);
  }
  template <class V>
  EMPLACE_INLINE static V combine(V a, V b) {
    return multiply(a, b);
  }
  template <class T, class A>
  static T result(A all, int64_t) {
    return all;
  }
};

struct Max {
  static constexpr int kVectorBytes = 32;  // g++ 12 takes comparisons of AVX-512 vectors apart
  template <class T>
  using Accumulator = T;
  template <class A>
  static A start() {
    return std::numeric_limits<A>::has_infinity ? -std::numeric_limits<A>::infinity()
                                                : std::numeric_limits<A>::lowest();
  }
  template <class V>
  EMPLACE_INLINE static V combine(V a, V b) {
    return maximum(a, b);
  }
  template <class T, class A>
  static T result(A all, int64_t) {
    return all;
  }
};
struct Min : Max {
  template <class A>
  static A start() {
    return std::numeric_limits<A>::has_infinity ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
  }
  template <class V>
  EMPLACE_INLINE static V combine(V a, V b) {
    return minimum(a, b);
  }
};

struct All {
  template <class T>
  using Accumulator = bool;
  template <class A>
  static A start() {
    return true;
  }
  static bool combine(bool a, bool b) { return a & b; }
  template <class T, class A>
  static T result(A all, int64_t) {
    return all;
  }
};
struct Any : All {
  template <class A>
  static A start() {
    return false;
  }
  static bool combine(bool a, bool b) { return a | b; }
};

struct HalfSumOfSquares : Sum {
  template <class V>
  EMPLACE_INLINE static V map(V x) {
    return x * x;
  }
  template <class T, class A>
  static T result(A all, int64_t) {
    return static_cast<T>(all / 2);
  }
};

struct SumOfSquares : Sum {
  template <class V>
  EMPLACE_INLINE static V map(V x) {
    if constexpr (kIsComplex<V>)
      return V(x.real() * x.real() + x.imag() * x.imag());
    else
      return multiply(x, x);
  }
};

/// The root of a sum of squares of the type itself, which wraps in integers. Of a negative number it is what x86 makes
/// of NaN: the lowest integer of 32 or 64 bits, cut to those that there are.
template <class T>
T root_of(T sum) {
  if constexpr (kIsComplex<T>) {
    return T(std::sqrt(sum.real()));
  } else if constexpr (std::is_integral_v<T>) {
    if (sum < 0) return sizeof(T) < sizeof(int32_t) ? T(0) : std::numeric_limits<T>::min();
    return static_cast<T>(std::sqrt(static_cast<double>(sum)));
  } else if constexpr (kIsHalf<T>) {
    return T(std::sqrt(static_cast<float>(sum)));
  } else {
    return std::sqrt(sum);
  }
}
template <class T>
const ReduceCode& euclidean_code(const ReduceCode& squares) {
  static const ReduceCode kCode = [&squares] {
    static const auto kSum = squares.finish;
    ReduceCode code = squares;
    code.of_one_is_it = false;
    code.finish = [](const void* accumulators, int64_t count, int64_t n, void* out) {
      kSum(accumulators, count, n, out);
      T* root = static_cast<T*>(out);
      *root = root_of(*root);
    };
    return code;
  }();
  return kCode;
}

// The empty set of a narrow type has that type's limits, not those of the compute type.
template <class R, class S>
const ReduceCode& with_own_limits(const ReduceCode& wide) {
  static const ReduceCode kCode = [&wide] {
    ReduceCode code = wide;
    code.finish = [](const void* accumulators, int64_t count, int64_t n, void* out) {
      if (n == 0)
        *static_cast<S*>(out) = R::template start<S>();
      else
        real_reduce_code<R>(dtype_of<S>)->finish(accumulators, count, n, out);
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

Result<std::unique_ptr<Kernel>> euclidean_norm(const KernelInit& init) {
  const DType type = init.input_types[0];
  if (type == DType::kComplex64)
    return make_reduction(init, euclidean_code<complex64>(reduce_code_of<SumOfSquares, complex64>()));
  if (type == DType::kComplex128)
    return make_reduction(init, euclidean_code<complex128>(reduce_code_of<SumOfSquares, complex128>()));
  return with_real(type, [&](auto zero) {
    return make_reduction(init, euclidean_code<decltype(zero)>(*real_reduce_code<SumOfSquares>(type)));
  });
}

template <class R>
Result<std::unique_ptr<Kernel>> extremum(const KernelInit& init) {
  const ReduceCode& code = *real_reduce_code<R>(init.input_types[0]);
  switch (init.input_types[0]) {
    case DType::kInt8:
      return make_reduction(init, with_own_limits<R, int8_t>(code));
    case DType::kInt16:
      return make_reduction(init, with_own_limits<R, int16_t>(code));
    case DType::kUInt8:
      return make_reduction(init, with_own_limits<R, uint8_t>(code));
    case DType::kUInt16:
      return make_reduction(init, with_own_limits<R, uint16_t>(code));
    case DType::kUInt32:
      return make_reduction(init, with_own_limits<R, uint32_t>(code));
    default:
      return make_reduction(init, code);
  }
}

template <class R>
Result<std::unique_ptr<Kernel>> of_bools(const KernelInit& init) {
  return make_reduction(init, reduce_code_of<R, bool>());
}

Result<std::unique_ptr<Kernel>> l2_loss(const KernelInit& init) {
  switch (init.input_types[0]) {
    case DType::kDouble:
      return make_reduction(init, reduce_code_of<HalfSumOfSquares, double>(), true);
    case DType::kHalf:
      return make_reduction(init, converting_reduce_code<HalfSumOfSquares, float, half>(), true);
    case DType::kBFloat16:
      return make_reduction(init, converting_reduce_code<HalfSumOfSquares, float, bfloat16>(), true);
    default:
      return make_reduction(init, reduce_code_of<HalfSumOfSquares, float>(), true);
  }
}

OpDef reduction(std::string_view name, std::string_view doc) {
  return OpDef(name).doc(doc).shape(reduction_shape).value_inputs({1});
}
OpDef numeric(std::string_view name, std::string_view doc) {
  return reduction(name, doc)
      .sample("input=f32[2,3,4] uniform(-2,2); axis=[1]")
      .sample("input=f32[3,5000] uniform(-2,2); axis=[1]")
      .sample("input=f32[100,3] uniform(-2,2); axis=[0]; keep_dims=true")
      .sample("input=f32[0,3]; axis=[0]");
}

// dy with the reduced dimensions as 1.
Value kept_dimensions(GradientContext& g, Value input_shape) {
  return g.attrs().flag("keep_dims") ? g.grad(0) : g.reshape(g.grad(0), g.reduced_shape(input_shape, g.input(1)));
}

bool reduces_all(const Tensor& axes, int rank) {
  if (axes.num_elements() != rank) return false;
  for (int i = 0; i < rank; ++i) {
    if (int_at(axes, i) != i) return false;
  }
  return true;
}

// dy spread over what was summed: by Tile where static shapes allow it, as TensorFlow chooses.
Value spread(GradientContext& g) {
  Value x = g.input(0);
  const Shape& shape = g.shape(x);
  const Tensor* axes = g.value(g.input(1));
  if (axes && shape.rank_known() && reduces_all(*axes, shape.rank())) {
    Value one = g.reshape(g.grad(0), std::vector<int64_t>(static_cast<size_t>(shape.rank()), 1));
    return g.add("Tile",
                 {one, shape.fully_known() ? g.ints({shape.dims().begin(), shape.dims().end()}) : g.shape_of(x)});
  }
  if (axes && shape.fully_known()) {
    std::vector<int64_t> kept(shape.dims().begin(), shape.dims().end()), times(kept.size(), 1);
    for (int64_t axis : ints_of(*axes)) {
      const auto i = static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis);
      times[i] = shape.dim(static_cast<int>(i));
      kept[i] = 1;
    }
    return g.add("Tile", {g.reshape(g.grad(0), kept), g.ints(times, "Tile/multiples")});
  }
  Value input_shape = g.shape_of(x);
  return g.add("BroadcastTo", {kept_dimensions(g, input_shape), input_shape});
}

Status sum_gradient(GradientContext& g) {
  g.set(0, spread(g));
  return g.status();
}

Status mean_gradient(GradientContext& g) {
  Value sum = spread(g);
  const auto input = g.shape(g.input(0)).checked_num_elements(), output = g.shape(g.output(0)).checked_num_elements();
  Value count;
  if (input && output && g.shape(g.input(0)).fully_known() && g.shape(g.output(0)).fully_known()) {
    const int64_t summands = *input / std::max<int64_t>(*output, 1);
    count = g.scalar(g.type(sum), static_cast<double>(summands));
  } else {
    Value input_shape = g.shape_of(g.input(0)), rank = g.size_of(input_shape);
    Value axes =
        g.add("FloorMod", {g.add("AddV2", {g.cast(g.input(1), DType::kInt32), rank}, {}, "add"), rank}, {}, "mod");
    Value sizes = g.gather(input_shape, axes);
    count = g.cast(g.add("Prod", {sizes, g.all_axes(sizes)}), g.type(sum));
  }
  g.set(0, g.add("RealDiv", {sum, count}, {}, "truediv"));
  return g.status();
}

// Equal elements share the gradient.
Status extremum_gradient(GradientContext& g) {
  Value x = g.input(0), y = g.output(0), dy = g.grad(0);
  Value input_shape = g.shape_of(x), kept;
  if (g.attrs().flag("keep_dims")) {
    kept = g.shape_of(y);
  } else {
    kept = g.reduced_shape(input_shape, g.input(1));
    y = g.reshape(y, kept);
    dy = g.reshape(dy, kept);
  }
  Value chosen = g.cast(g.add("Equal", {y, x}), g.type(dy));
  Value count = g.reshape(g.sum(chosen, g.input(1)), kept);
  g.set(0, g.mul(g.add("RealDiv", {chosen, count}, {}, "truediv"), dy));
  return g.status();
}

Status euclidean_norm_gradient(GradientContext& g) {
  Value y = g.output(0), dy = g.grad(0);
  if (!g.attrs().flag("keep_dims")) {
    const Value kept = g.reduced_shape(g.shape_of(g.input(0)), g.input(1));
    y = g.reshape(y, kept);
    dy = g.reshape(dy, kept);
  }
  const Value scale = g.add("RealDiv", {y, dy}, {}, "truediv");
  g.set(0, g.add("RealDiv", {g.input(0), scale}, {}, "truediv"));
  return g.status();
}

// The product of all others, from products of those before and those behind, so that zeros do no harm. The reduced
// dimensions go to the front and become one.
Status prod_gradient(GradientContext& g) {
  Value x = g.input(0);
  Value input_shape = g.shape_of(x);
  Value axes = g.reshape(g.input(1), std::vector<int64_t>{-1});
  Value dy = g.add("BroadcastTo", {kept_dimensions(g, input_shape), input_shape});
  Value rank = g.rank_of(x);
  Value reduced = g.add("FloorMod", {g.add("AddV2", {g.cast(axes, DType::kInt32), rank}, {}, "add"), rank}, {}, "mod");
  Value all = g.range(g.index(0, "range/start"), rank, g.index(1, "range/delta"));
  Value others = g.add("ListDiff", {all, reduced}, {{"out_idx", AttrValue::of(DType::kInt32)}});
  Value order = g.concat({reduced, others});
  Value first = g.ints({0});
  Value reduced_size = g.add("Prod", {g.gather(input_shape, reduced), first});
  Value other_size = g.add("Prod", {g.gather(input_shape, others), first});
  Value permuted = g.transpose(x, order);
  Value permuted_shape = g.shape_of(permuted);
  Value matrix = g.reshape(permuted, g.pack({reduced_size, other_size}));
  Value axis = g.index(0, "Cumprod/axis");
  Value before = g.add("Cumprod", {matrix, axis}, {{"exclusive", AttrValue::of(true)}});
  Value behind =
      g.add("Cumprod", {matrix, axis}, {{"exclusive", AttrValue::of(true)}, {"reverse", AttrValue::of(true)}});
  Value product = g.reshape(g.mul(before, behind), permuted_shape);
  Value back = g.transpose(product, g.add("InvertPermutation", {order}));
  g.set(0, g.reshape(g.mul(dy, back), input_shape));
  return g.status();
}

Status l2_loss_gradient(GradientContext& g) {
  g.set(0, g.mul(g.input(0), g.grad(0)));
  return g.status();
}

}  // namespace

OpDef sum_op() {
  return numeric("Sum", "The sum over the axes; integers wrap.")
      .traits({.of_sums = OfSums::kSums})
      .cpu(kNumbers, sum_like<Sum>)
      .gradient(sum_gradient);
}
OpDef mean_op() {
  return numeric("Mean", "The mean over the axes.")
      .traits({.of_sums = OfSums::kAverages})
      .cpu(kNumbers, sum_like<Mean>)
      .gradient(mean_gradient);
}
OpDef prod_op() {
  return numeric("Prod", "The product over the axes; integers wrap.")
      .cpu(kNumbers, sum_like<Prod>)
      .gradient(prod_gradient);
}
OpDef max_op() {
  return numeric("Max", "The largest element over the axes; NaN if one is.")
      .cpu(kRealNumbers, extremum<Max>)
      .gradient(extremum_gradient);
}
OpDef min_op() {
  return numeric("Min", "The smallest element over the axes; NaN if one is.")
      .cpu(kRealNumbers, extremum<Min>)
      .gradient(extremum_gradient);
}
OpDef euclidean_norm_op() {
  return numeric("EuclideanNorm", "The root of the sum of the squares over the axes.")
      .cpu(kNumbers, euclidean_norm)
      .gradient(euclidean_norm_gradient);
}
OpDef all_op() {
  return reduction("All", "Are all elements over the axes true?")
      .cpu(of_bools<All>)
      .sample("input=bool[2,3]; axis=[1]")
      .not_differentiable();
}
OpDef any_op() {
  return reduction("Any", "Is any element over the axes true?")
      .cpu(of_bools<Any>)
      .sample("input=bool[2,3]; axis=[1]")
      .not_differentiable();
}
OpDef l2_loss_op() {
  return OpDef("L2Loss")
      .doc("Half the sum of the squares.")
      .traits({.of_sums = OfSums::kSumsSquares})
      .shape(shape_scalar)
      .cpu(kFloating, l2_loss)
      .sample("t=f32[2,3] uniform(-2,2)")
      .gradient(l2_loss_gradient);
}

}  // namespace emplace
