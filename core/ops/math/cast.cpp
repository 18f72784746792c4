// Cast: another element type, value by value. Narrow types go through the type they compute in
// (core/ops/kit/convert.h), so int64 to half is rounded to float on its way, as in TensorFlow.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/cat.h"
#include "core/base/tiny_float.h"
#include "core/op/gradient_context.h"
#include "core/ops/kit/elementwise.h"
#include "core/ops/kit/numeric.h"

namespace emplace {
namespace {

/// Out of range, and NaN: the smallest integer, as x86 converts.
template <class To, class From>
EMPLACE_INLINE To to_integer(From x) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr From kHalfRange = static_cast<From>(0x1p63);
    if (x >= kHalfRange && x < 2 * kHalfRange)
      return static_cast<uint64_t>(to_integer<int64_t>(x - kHalfRange)) ^ (uint64_t{1} << 63);
    return static_cast<uint64_t>(to_integer<int64_t>(x));  // negative numbers wrap
  } else {
    constexpr From kLimit = -static_cast<From>(std::numeric_limits<To>::min());  // one more than the largest
    return x >= -kLimit && x < kLimit ? static_cast<To>(x) : std::numeric_limits<To>::min();
  }
}

template <class To, class From>
EMPLACE_INLINE To cast_one(const From& x) {
  if constexpr (kIsComplex<From> && kIsComplex<To>)
    return To(x);
  else if constexpr (kIsComplex<From>)
    return cast_one<To>(x.real());
  else if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else if constexpr (kIsComplex<To>)
    return To(static_cast<typename To::value_type>(x));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return to_integer<To>(x);
  else
    return static_cast<To>(x);
}

template <class From, class To>
EMPLACE_INLINE void cast_body(const void* from, void* to, int64_t n) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = cast_one<To>(x[i]);
}
template <class From, class To>
void cast_base(const void* from, void* to, int64_t n) {
  cast_body<From, To>(from, to, n);
}
template <class From, class To>
EMPLACE_TARGET_V3 void cast_v3(const void* from, void* to, int64_t n) {
  cast_body<From, To>(from, to, n);
}

/// Between compute types.
template <class From>
ConvertFunction cast_from(DType to) {
  auto pick = []<class To>(const To*) {
    return for_isa<ConvertFunction>(cast_base<From, To>, cast_v3<From, To>, cast_v3<From, To>);
  };
  switch (to) {
    case DType::kFloat:
      return pick(static_cast<const float*>(nullptr));
    case DType::kDouble:
      return pick(static_cast<const double*>(nullptr));
    case DType::kInt32:
      return pick(static_cast<const int32_t*>(nullptr));
    case DType::kInt64:
      return pick(static_cast<const int64_t*>(nullptr));
    case DType::kUInt64:
      return pick(static_cast<const uint64_t*>(nullptr));
    case DType::kBool:
      return pick(static_cast<const bool*>(nullptr));
    case DType::kComplex64:
      return pick(static_cast<const complex64*>(nullptr));
    case DType::kComplex128:
      return pick(static_cast<const complex128*>(nullptr));
    default:
      return nullptr;
  }
}
ConvertFunction cast_between(DType from, DType to) {
  switch (from) {
    case DType::kFloat:
      return cast_from<float>(to);
    case DType::kDouble:
      return cast_from<double>(to);
    case DType::kInt32:
      return cast_from<int32_t>(to);
    case DType::kInt64:
      return cast_from<int64_t>(to);
    case DType::kUInt64:
      return cast_from<uint64_t>(to);
    case DType::kBool:
      return cast_from<bool>(to);
    case DType::kComplex64:
      return cast_from<complex64>(to);
    case DType::kComplex128:
      return cast_from<complex128>(to);
    default:
      return nullptr;
  }
}

/// Cast's attr Truncate: mantissa bits that the result has no room for are cleared first, so nothing rounds up. From
/// double to bfloat16 TensorFlow rounds all the same.
int surplus_mantissa_bits(DType from, DType to) {
  if (from == DType::kDouble && to == DType::kBFloat16) return 0;
  auto bits = [](DType t) {
    switch (t) {
      case DType::kDouble:
        return 52;
      case DType::kFloat:
        return 23;
      case DType::kHalf:
        return 10;
      case DType::kBFloat16:
        return 7;
      default:
        return 0;
    }
  };
  return bits(from) && bits(to) ? std::max(0, bits(from) - bits(to)) : 0;
}
template <class Bits>
void clear_low_bits(const void* from, void* to, int64_t n, int bits) {
  const Bits* x = static_cast<const Bits*>(from);
  Bits* y = static_cast<Bits*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] >> bits << bits;
}

/// If bits are lost, the last one kept is 1: rounded again, to fewer bits, it is what the double would have been.
void double_to_odd_float(const void* from, void* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double v = static_cast<const double*>(from)[i];
    auto near = static_cast<float>(v);
    const bool exact = static_cast<double>(near) == v || v != v || (std::bit_cast<uint32_t>(near) & 1) != 0;
    if (!exact) near = std::nextafter(near, static_cast<double>(near) < v ? HUGE_VALF : -HUGE_VALF);
    static_cast<float*>(to)[i] = near;
  }
}

/// Up to four steps on a block of elements: widen, clear surplus bits, cast between compute types, narrow.
struct CastSteps {
  ConvertFunction widen = nullptr, cast = nullptr, narrow = nullptr;
  DType from, to;
  int surplus_bits = 0;
};

constexpr int64_t kBlock = 512;

void cast_block(const CastSteps& s, const void* from, void* to, int64_t n) {
  if (s.from == s.to) {
    std::memmove(to, from, static_cast<size_t>(n) * dtype_size(s.to));
    return;
  }
  alignas(64) char first[kBlock * sizeof(complex128)];
  alignas(64) char second[kBlock * sizeof(complex128)];
  if (s.widen) {
    s.widen(from, s.cast || s.narrow || s.surplus_bits ? first : to, n);
    from = first;
  }
  if (s.surplus_bits) {
    s.from == DType::kDouble ? clear_low_bits<uint64_t>(from, first, n, s.surplus_bits)
                             : clear_low_bits<uint32_t>(from, first, n, s.surplus_bits);
    from = first;
  }
  if (s.cast) {
    s.cast(from, s.narrow ? second : to, n);
    from = second;
  }
  if (s.narrow) s.narrow(from, to, n);
}

void cast_tile(const void* const* inputs, const int64_t* strides, void* out, int64_t n, const void* params) {
  const auto& s = *static_cast<const CastSteps*>(params);
  const int64_t in_bytes = static_cast<int64_t>(dtype_size(s.from)), out_bytes = static_cast<int64_t>(dtype_size(s.to));
  char* to = static_cast<char*>(out);
  if (strides[0] == 0) {
    cast_block(s, inputs[0], to, 1);
    for (int64_t i = 1; i < n; ++i) std::memcpy(to + i * out_bytes, to, static_cast<size_t>(out_bytes));
    return;
  }
  for (int64_t at = 0; at < n; at += kBlock) {
    cast_block(s, static_cast<const char*>(inputs[0]) + at * in_bytes, to + at * out_bytes, std::min(kBlock, n - at));
  }
}

Result<std::unique_ptr<Kernel>> make_cast(const KernelInit& init) {
  const DType from = init.input_types[0], to = init.output_types[0];
  constexpr DTypeSet kCastable = kNumbersAndBool | kTiny;
  if (!kCastable.has(from) || !kCastable.has(to)) {
    return unimplemented(cat("Cast ", dtype_tf_name(from), " to ", dtype_tf_name(to), " is not supported"));
  }
  auto steps = std::make_shared<CastSteps>();
  steps->from = from;
  steps->to = to;
  steps->widen = widening(from);
  steps->narrow = narrowing(to);
  if (compute_type(from) != compute_type(to)) steps->cast = cast_between(compute_type(from), compute_type(to));
  if (from == DType::kDouble && kTinyFloats.has(to)) steps->cast = double_to_odd_float;
  if (init.attrs.flag("Truncate")) steps->surplus_bits = surplus_mantissa_bits(from, to);
  ElementwiseCode code;
  code.function = cast_tile;
  code.computes_in = from;
  code.params = std::move(steps);
  return make_elementwise(init, std::move(code));
}

// Integers and bool carry no gradient.
Status cast_gradient(GradientContext& g) {
  const DType from = g.type(g.input(0));
  if (kFloating.has(from) && kFloating.has(g.type(g.grad(0)))) g.set(0, g.cast(g.grad(0), from));
  return g.status();
}

}  // namespace

OpDef cast_op() {
  return OpDef("Cast")
      .doc("The same values in another element type.")
      .traits({.partial_value = PartialValue::kInput, .of_sums = OfSums::kKeeps, .python_scope = true})
      .shape(shape_unchanged)
      .cpu(DTypeSet::from_bits(~uint64_t{0}), make_cast)
      .sample("x=f32[2,3] uniform(-8,8); DstT=int32")
      .sample("x=i32[2,3] uniform(-8,8); DstT=float32")
      .gradient(cast_gradient);
}

}  // namespace emplace
