// Cast: another element type, value by value. Types that are computed in another go through that one (int64 to half is
// rounded to float on its way), as TensorFlow has it.
#include <algorithm>

#include "cuda/elementwise.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// Out of range, and NaN: the smallest integer, as on the CPU.
template <class To, class From>
EMPLACE_HD To to_integer(From x) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr From kHalfRange = static_cast<From>(0x1p63);
    if (x >= kHalfRange && x < 2 * kHalfRange)
      return static_cast<uint64_t>(to_integer<int64_t>(x - kHalfRange)) ^ (uint64_t{1} << 63);
    return static_cast<uint64_t>(to_integer<int64_t>(x));
  } else {
    constexpr From kLimit = -static_cast<From>(std::numeric_limits<To>::min());
    return x >= -kLimit && x < kLimit ? static_cast<To>(x) : std::numeric_limits<To>::min();
  }
}

template <class To, class From>
EMPLACE_HD To cast_one(From x) {
  if constexpr (kIsComplex<From> && kIsComplex<To>)
    return To(static_cast<decltype(To().re)>(x.re), static_cast<decltype(To().re)>(x.im));
  else if constexpr (kIsComplex<From>)
    return cast_one<To>(x.re);
  else if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else if constexpr (kIsComplex<To>)
    return To(static_cast<decltype(To().re)>(x));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return to_integer<To>(x);
  else
    return static_cast<To>(x);
}

/// The type that elements are converted through: halves in float, integers below 32 bits in int32, uint32 in int64.
template <class T>
using Compute =
    std::conditional_t<kIsNarrow<T>, float,
                       std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < 4, int32_t,
                                          std::conditional_t<std::is_same_v<T, uint32_t>, int64_t, T>>>;

/// Attr Truncate: mantissa bits that the result has no room for are cleared, so nothing rounds up.
template <class W>
EMPLACE_HD W without_low_bits(W x, int bits) {
  if constexpr (std::is_same_v<W, float>) {
    return float_of_bits(bits_of_float(x) >> bits << bits);
  } else if constexpr (std::is_same_v<W, double>) {
#ifdef __CUDA_ARCH__
    return __longlong_as_double(__double_as_longlong(x) >> bits << bits);
#else
    return std::bit_cast<double>(std::bit_cast<uint64_t>(x) >> bits << bits);
#endif
  } else {
    return x;
  }
}

/// What a thread makes at once: 16 bytes of the wider type, of small ones less, to keep the code small.
template <class To, class From>
constexpr int cast_pack() {
  return std::min(8, kPackSize<To, From>);
}

template <class To, class From>
EMPLACE_HD To cast_element(From x, int surplus_bits) {
  auto wide = static_cast<Compute<From>>(widen(x));
  if (surplus_bits != 0) wide = without_low_bits(wide, surplus_bits);
  if constexpr (kIsNarrow<To>)
    return narrow<To>(cast_one<float>(wide));
  else
    return static_cast<To>(cast_one<Compute<To>>(wide));
}

template <class To, class From>
__device__ __forceinline__ void cast_all(const From* x, void* out, int64_t n, int surplus_bits) {
  constexpr int N = cast_pack<To, From>();
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  const Pack<From, N> from = load_pack<From, N>(x, n, first);
  Pack<To, N> to;
  EMPLACE_UNROLL for (int j = 0; j < N; ++j) to.at[j] = cast_element<To>(from.at[j], surplus_bits);
  store_pack(out, n, first, to);
}

/// What mixed precision and input pipelines convert at every step goes without the choice below.
template <class To, class From>
__global__ void cast_pair_kernel(const From* x, void* y, int64_t n, int surplus_bits) {
  cast_all<To>(x, y, n, surplus_bits);
}
template <class From>
using CastPair = void (*)(const From*, void*, int64_t, int);
template <class From>
CastPair<From> cast_pair(DType to) {
  if constexpr (std::is_same_v<From, float>) {
    if (to == DType::kHalf) return cast_pair_kernel<half, From>;
    if (to == DType::kBFloat16) return cast_pair_kernel<bfloat16, From>;
    if (to == DType::kInt32) return cast_pair_kernel<int32_t, From>;
  } else if constexpr (kIsNarrow<From> || std::is_same_v<From, bool> || std::is_same_v<From, uint8_t> ||
                       std::is_same_v<From, int32_t> || std::is_same_v<From, int64_t>) {
    if (to == DType::kFloat) return cast_pair_kernel<float, From>;
  }
  return nullptr;
}

/// One kernel for all other results: a kernel for each pair of types would take longer to compile than all others
/// together. What is cut to 8 or 16 bits is the same bits with and without sign.
template <class From>
__global__ void cast_kernel(const From* x, void* y, DType to, int64_t n, int surplus_bits) {
  switch (to) {
    case DType::kFloat:
      return cast_all<float>(x, y, n, surplus_bits);
    case DType::kDouble:
      return cast_all<double>(x, y, n, surplus_bits);
    case DType::kHalf:
      return cast_all<half>(x, y, n, surplus_bits);
    case DType::kBFloat16:
      return cast_all<bfloat16>(x, y, n, surplus_bits);
    case DType::kInt8:
    case DType::kUInt8:
      return cast_all<uint8_t>(x, y, n, surplus_bits);
    case DType::kInt16:
    case DType::kUInt16:
      return cast_all<uint16_t>(x, y, n, surplus_bits);
    case DType::kInt32:
      return cast_all<int32_t>(x, y, n, surplus_bits);
    case DType::kInt64:
      return cast_all<int64_t>(x, y, n, surplus_bits);
    case DType::kUInt32:
      return cast_all<uint32_t>(x, y, n, surplus_bits);
    case DType::kUInt64:
      return cast_all<uint64_t>(x, y, n, surplus_bits);
    case DType::kBool:
      return cast_all<bool>(x, y, n, surplus_bits);
    case DType::kComplex64:
      return cast_all<complex64>(x, y, n, surplus_bits);
    case DType::kComplex128:
      return cast_all<complex128>(x, y, n, surplus_bits);
    default:
      return;
  }
}

int mantissa_bits(DType t) {
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
}
/// From double to bfloat16 TensorFlow rounds all the same.
int surplus_bits(DType from, DType to) {
  if (from == DType::kDouble && to == DType::kBFloat16) return 0;
  const int a = mantissa_bits(from), b = mantissa_bits(to);
  return b > 0 && a > b ? a - b : 0;
}

template <class From>
class Cast final : public Kernel {
 public:
  explicit Cast(const KernelInit& init)
      : surplus_bits_(init.attrs.flag("Truncate") ? surplus_bits(init.input_types[0], init.output_types[0]) : 0) {}
  Status run(KernelContext& c) override {
    const DType to = c.output(0).dtype();
    if (!kNumbersAndBool.has(to)) return unimplemented("Cast to " + dtype_tf_name(to) + " on a GPU");
    const int64_t n = c.output(0).num_elements();
    if (to == dtype_of<From> && c.input(0).raw() == c.output(0).raw()) return ok_status();
    const auto widest = static_cast<int64_t>(std::max(storage_size(to), sizeof(From)));
    const int64_t pack = std::min<int64_t>(8, 16 / widest);
    if (const CastPair<From> pair = cast_pair<From>(to)) {
      return launch(Barriers::kNone, pair, grid_for(n, kThreads * pack), kThreads, 0, stream_of(c), c.in<From>(0),
                    c.output(0).raw(), n, surplus_bits_);
    }
    return launch(Barriers::kNone, cast_kernel<From>, grid_for(n, kThreads * pack), kThreads, 0, stream_of(c),
                  c.in<From>(0), c.output(0).raw(), to, n, surplus_bits_);
  }

 private:
  int surplus_bits_;
};

}  // namespace

void add_cast(KernelTable& table) {
  table.add("Cast", kNumbersAndBool,
            by_input<0, Cast, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                     uint32_t, uint64_t, bool, complex64, complex128>);
}

}  // namespace emplace::cuda
