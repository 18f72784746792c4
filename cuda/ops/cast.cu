// Cast: another element type, value by value. Types that are computed in another go through that one (int64 to half is
// rounded to float on its way), as TensorFlow has it.
#include "cuda/elementwise.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// Out of range, and NaN: the smallest integer, as on the CPU.
template <class To, class From>
EMPLACE_HD To to_integer(From x) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    constexpr From kHalfRange = static_cast<From>(0x1p63);
    if (x >= kHalfRange && x < 2 * kHalfRange) return static_cast<uint64_t>(to_integer<int64_t>(x - kHalfRange)) ^ (uint64_t{1} << 63);
    return static_cast<uint64_t>(to_integer<int64_t>(x));
  } else {
    constexpr From kLimit = -static_cast<From>(std::numeric_limits<To>::min());
    return x >= -kLimit && x < kLimit ? static_cast<To>(x) : std::numeric_limits<To>::min();
  }
}

template <class To, class From>
EMPLACE_HD To cast_one(From x) {
  if constexpr (kIsComplex<From> && kIsComplex<To>) return To(static_cast<decltype(To().re)>(x.re), static_cast<decltype(To().re)>(x.im));
  else if constexpr (kIsComplex<From>) return cast_one<To>(x.re);
  else if constexpr (std::is_same_v<To, bool>) return x != From(0);
  else if constexpr (kIsComplex<To>) return To(static_cast<decltype(To().re)>(x));
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) return to_integer<To>(x);
  else return static_cast<To>(x);
}

/// The type that elements are converted through: halves in float, integers below 32 bits in int32, uint32 in int64.
template <class T>
using Compute = std::conditional_t<kIsNarrow<T>, float,
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

template <class From, class To>
__global__ void cast_kernel(const From* x, To* y, int64_t n, int surplus_bits) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    auto wide = static_cast<Compute<From>>(widen(x[i]));
    if (surplus_bits != 0) wide = without_low_bits(wide, surplus_bits);
    if constexpr (kIsNarrow<To>) y[i] = narrow<To>(cast_one<float>(wide));
    else y[i] = static_cast<To>(cast_one<Compute<To>>(wide));
  }
}

int mantissa_bits(DType t) {
  switch (t) {
    case DType::kDouble: return 52;
    case DType::kFloat: return 23;
    case DType::kHalf: return 10;
    case DType::kBFloat16: return 7;
    default: return 0;
  }
}
/// From double to bfloat16 TensorFlow rounds all the same.
int surplus_bits(DType from, DType to) {
  if (from == DType::kDouble && to == DType::kBFloat16) return 0;
  const int a = mantissa_bits(from), b = mantissa_bits(to);
  return b > 0 && a > b ? a - b : 0;
}

template <class From>
struct CastFrom {
  template <class To>
  class Cast final : public Kernel {
   public:
    explicit Cast(const KernelInit& init)
        : surplus_bits_(init.attrs.flag("Truncate") ? surplus_bits(init.input_types[0], init.output_types[0]) : 0) {}
    Status run(KernelContext& c) override {
      const int64_t n = c.output(0).num_elements();
      if (std::is_same_v<From, To> && c.input(0).raw() == c.output(0).raw()) return ok_status();
      return launch(Barriers::kNone, cast_kernel<From, To>, grid_for(n), kThreads, 0, stream_of(c), c.in<From>(0), c.out<To>(0), n, surplus_bits_);
    }

   private:
    int surplus_bits_;
  };
};

template <class From>
class AnyCast final : public Kernel {
 public:
  explicit AnyCast(const KernelInit& init) : made_(cast(init)) {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(made_.status());
    return (*made_)->run(c);
  }

 private:
  static Result<std::unique_ptr<Kernel>> cast(const KernelInit& init) {
    if (!kNumbersAndBool.has(init.output_types[0])) return unimplemented("Cast to " + dtype_tf_name(init.output_types[0]) + " on a GPU");
    return by_output<CastFrom<From>::template Cast, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                     uint32_t, uint64_t, bool, complex64, complex128>(init);
  }
  Result<std::unique_ptr<Kernel>> made_;
};

}  // namespace

void add_cast(KernelTable& table) {
  table.add("Cast", kNumbersAndBool,
            by_input<0, AnyCast, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, bool,
                     complex64, complex128>);
}

}  // namespace emplace::cuda
