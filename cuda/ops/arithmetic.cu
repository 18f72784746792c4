// Add, AddV2, Sub, Mul, SquaredDifference, Maximum, Minimum, ClipByValue.
#include "cuda/arithmetic.h"
#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

struct Add {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) { return add(a, b); }
};
struct Sub {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) { return subtract(a, b); }
};
struct Mul {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) { return multiply(a, b); }
};
struct SquaredDifference {
  template <class T>
  EMPLACE_HD static Wide<T> apply_as(Wide<T> a, Wide<T> b) {
    const Wide<T> difference = rounded<T>(subtract(a, b));
    return multiply(difference, difference);
  }
};
/// Maximum and Minimum.
struct Extreme {
  bool largest;

  static Extreme of(const KernelInit& init) { return {init.op == "Maximum"}; }
  template <class T>
  EMPLACE_HD T apply(T a, T b) const { return largest ? maximum(a, b) : minimum(a, b); }
};
struct Clip {
  template <class T>
  EMPLACE_HD static T apply(T x, T low, T high) {
    const T below = high < x ? high : x;
    return below < low ? low : below;
  }
  static Status check(const KernelContext& c) {
    for (int i = 1; i < 3; ++i) {
      const Shape& bound = c.input(i).shape();
      if (bound.rank() != 0 && bound != c.input(0).shape()) {
        return invalid_argument("clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. ");
      }
    }
    return ok_status();
  }
};

template <class F>
constexpr KernelMaker kAny = elementwise_unsigned<F, float, double, half, bfloat16, uint8_t, uint16_t, uint32_t, uint64_t, complex64, complex128>;

}  // namespace

void add_arithmetic(KernelTable& table) {
  constexpr DTypeSet kReals = kRealNumbers.without(kHostInt32), kAll = kNumbers.without(kHostInt32);
  table.add("Add", kAll, kAny<Add>);
  table.add("AddV2", kAll, kAny<Add>);
  table.add("Sub", kAll, kAny<Sub>);
  table.add("Mul", kAll, kAny<Mul>);
  table.add("SquaredDifference", kFloating | DTypeSet{DType::kInt64}, elementwise_unsigned<SquaredDifference, float, double, half, bfloat16, uint64_t>);
  for (auto op : {"Maximum", "Minimum"}) table.add(op, kReals, kOfReals<Extreme>);
  table.add("ClipByValue", kReals.without(DTypeSet{DType::kUInt32, DType::kUInt64}),
            elementwise<Clip, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t>);
  for (auto op : {"Add", "AddV2", "Sub", "Mul", "SquaredDifference", "Maximum", "Minimum", "ClipByValue"}) table.add_host_code(op, kHostInt32);
}

}  // namespace emplace::cuda
