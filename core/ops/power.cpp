// Pow and Xlogy.
#include <algorithm>

#include "core/op/gradient_context.h"
#include "core/ops/elementwise.h"
#include "core/ops/vector_math.h"

namespace emplace {
namespace {

template <class T>
bool any_negative(const Tensor& t) {
  auto all = t.flat<T>();
  return std::any_of(all.begin(), all.end(), [](T v) { return v < 0; });
}

struct Pow {
  static constexpr double kCostNs = 15;
  template <class T>
  static constexpr bool kScalarOnly = true;
  template <class T>
  static T apply(T base, T exponent) { return std::pow(base, exponent); }
};

/// By repeated squaring, wrapping. A negative exponent has no integer result.
struct IntegerPow {
  static constexpr double kCostNs = 5;
  template <class T>
  static constexpr bool kScalarOnly = true;
  template <class T>
  static T apply(T base, T exponent) {
    T result = 1;
    for (; exponent > 0; exponent >>= 1, base = multiply(base, base)) {
      if (exponent & 1) result = multiply(result, base);
    }
    return result;
  }

  static Status check(const KernelContext& c) {
    const Tensor& exponent = c.input(1);
    bool negative = false;
    switch (exponent.dtype()) {
      case DType::kInt8: negative = any_negative<int8_t>(exponent); break;
      case DType::kInt16: negative = any_negative<int16_t>(exponent); break;
      case DType::kInt32: negative = any_negative<int32_t>(exponent); break;
      case DType::kInt64: negative = any_negative<int64_t>(exponent); break;
      default: break;
    }
    return negative ? invalid_argument("Integers to negative integer powers are not allowed") : ok_status();
  }
};

struct Xlogy {
  static constexpr double kCostNs = 0.5;
  template <class T>
  static constexpr bool kScalarOnly = kLibraryMath<T>;
  template <class T>
  EMPLACE_INLINE static T apply(T x, T y) {
    const T product = x * log_of(y);
    return x == T(0) ? T(0) : product;
  }
};

// d/dx = y * x^(y-1) as written; d/dy uses log(x) where x > 0 and 0 elsewhere.
Status pow_gradient(GradientContext& g) {
  Value x = g.input(0), y = g.input(1);
  const DType type = g.type(x);
  Value by_y = g.mul(g.grad(0), y);
  Value less = g.add("Sub", {y, g.scalar(type, 1, "sub/y")}, {}, "sub");
  Value gx = g.mul(by_y, g.add("Pow", {x, less}));
  Value mask = g.add("Greater", {x, g.scalar(type, 0, "Greater/y")});
  Value safe = g.add("Select", {mask, x, g.ones(g.shape_of(x), type)});
  Value log = g.add("Select", {mask, g.add("Log", {safe}), g.zeros_like(x)});
  g.set_binary(gx, g.mul(g.mul(g.grad(0), g.output(0)), log));
  return g.status();
}

Status xlogy_gradient(GradientContext& g) {
  Value x = g.input(0), y = g.input(1);
  const DType type = g.type(x);
  g.wait_for(g.grad(0));
  Value not_zero = g.cast(g.add("NotEqual", {x, g.scalar(type, 0, "Cast/x")}), type);
  Value partial_x = g.add("Xlogy", {not_zero, y});
  Value partial_y = g.add("Xdivy", {x, y});
  Value gx = g.mul(partial_x, g.grad(0));
  g.set_binary(gx, g.mul(partial_y, g.grad(0)));
  return g.status();
}

}  // namespace

OpDef pow_op() {
  return binary_op("Pow", "x to the power of y.")
      .cpu(kFloating | kComplexes, elementwise<Pow, float, double, complex64, complex128>)
      .cpu(kSigned, elementwise<IntegerPow, int32_t, int64_t>).gradient(pow_gradient);
}
OpDef xlogy_op() {
  return binary_op("Xlogy", "x * log(y), but 0 where x is 0.")
      .cpu(kFloating | kComplexes, elementwise<Xlogy, float, double, complex64, complex128>).gradient(xlogy_gradient);
}

}  // namespace emplace
