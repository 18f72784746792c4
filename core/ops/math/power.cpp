// Pow, Xlogy and Xlog1py.
#include <algorithm>

#include "core/op/gradient_context.h"
#include "core/ops/formulas/division.h"
#include "core/ops/kit/guarded_tile.h"

namespace emplace {
namespace {

template <class T>
bool any_negative(const Tensor& t) {
  auto all = t.flat<T>();
  return std::any_of(all.begin(), all.end(), [](T v) { return v < 0; });
}

struct Pow : fn::Pow {
  static constexpr double kCostNs = 15;
  template <class T>
  static constexpr bool kScalarOnly = true;
};

/// fn::Pow as 2^(y log2 |x|), with the sign of x where y is odd.
struct FastPow {
  using Library = Pow;
  static constexpr double kCostNs = 1.5;
  EMPLACE_INLINE static bool ordinary(float x, float y) {
    const float magnitude = std::fabs(x);
    return (magnitude >= 0x1p-126f) & (magnitude <= 0x1.fffffep127f) & (std::fabs(y) < 0x1p23f);
  }
  // e + log2(m), x = m 2^e, m in [sqrt(1/2), sqrt(2)): log(m) = 2 (t + t^3 / 3 + ...), t = (m - 1) / (m + 1).
  EMPLACE_INLINE static double log2_of(float x) {
    constexpr uint32_t kSqrtHalf = 0x3f3504f3;
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const int32_t e = static_cast<int32_t>(bits - kSqrtHalf) >> 23;
    const double m = std::bit_cast<float>(bits - (static_cast<uint32_t>(e) << 23));
    const double t = (m - 1) / (m + 1);
    const double series = polynomial(t * t, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15);
    return static_cast<double>(static_cast<float>(e)) + 2.88539008177792681472 * t * series;
  }
  EMPLACE_INLINE static double exp2_of(double x) {
    const double raised = x < -200 ? -200 : x, power = raised > 200 ? 200 : raised;  // beyond any float
    const double rounded = power + kWholeNumbers;
    const double r = (power - (rounded - kWholeNumbers)) * 0.69314718055994530942;
    const double mantissa = polynomial(r, 1.0, 1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040,
                                       1.0 / 40320, 1.0 / 362880, 1.0 / 3628800);
    return mantissa * std::bit_cast<double>((std::bit_cast<uint64_t>(rounded) << 52) + std::bit_cast<uint64_t>(1.0));
  }
  EMPLACE_INLINE static float apply(float x, float y) {
    const bool good = ordinary(x, y);
    const float base = good ? std::fabs(x) : 1.0f, exponent = good ? y : 1.0f;
    const float magnitude = static_cast<float>(exp2_of(static_cast<double>(exponent) * log2_of(base)));
    const int32_t whole = static_cast<int32_t>(exponent);
    const float negative = static_cast<float>(whole) != exponent ? std::numeric_limits<float>::quiet_NaN()
                           : whole & 1                           ? -magnitude
                                                                 : magnitude;
    return x < 0 ? negative : magnitude;
  }
};

struct IntegerPow : fn::IntegerPow {
  static constexpr double kCostNs = 5;
  template <class T>
  static constexpr bool kScalarOnly = true;

  static Status check(const KernelContext& c) {
    const Tensor& exponent = c.input(1);
    bool negative = false;
    switch (exponent.dtype()) {
      case DType::kInt8:
        negative = any_negative<int8_t>(exponent);
        break;
      case DType::kInt16:
        negative = any_negative<int16_t>(exponent);
        break;
      case DType::kInt32:
        negative = any_negative<int32_t>(exponent);
        break;
      case DType::kInt64:
        negative = any_negative<int64_t>(exponent);
        break;
      default:
        break;
    }
    return negative ? invalid_argument("Integers to negative integer powers are not allowed") : ok_status();
  }
};

struct Xlogy : Transcendental<fn::Xlogy> {
  static constexpr double kCostNs = 0.5;
};

struct Xlog1py : Transcendental<fn::Xlog1py> {
  static constexpr double kCostNs = 0.5;
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

// The forward op once more, and of y the quotient of x and the logarithm's argument.
template <class Argument>
Status product_with_log_gradient(GradientContext& g, const Argument& argument) {
  Value x = g.input(0), y = g.input(1);
  const DType type = g.type(x);
  g.wait_for(g.grad(0));
  Value not_zero = g.cast(g.add("NotEqual", {x, g.scalar(type, 0, "Cast/x")}), type);
  Value partial_x = g.add(g.op(), {not_zero, y});
  Value partial_y = g.add("Xdivy", {x, argument(y)});
  Value gx = g.mul(partial_x, g.grad(0));
  g.set_binary(gx, g.mul(partial_y, g.grad(0)));
  return g.status();
}
Status xlogy_gradient(GradientContext& g) {
  return product_with_log_gradient(g, [](Value y) { return y; });
}
Status xlog1py_gradient(GradientContext& g) {
  return product_with_log_gradient(g, [&](Value y) {
    return g.add("AddV2", {y, g.scalar(g.type(y), 1, "add/y")}, {}, "add");
  });
}

}  // namespace

OpDef pow_op() {
  return binary_op("Pow", "x to the power of y.")
      .cpu(kFloating | kComplexes, guarded<FastPow, float, double, complex64, complex128>)
      .cpu(kSigned, elementwise<IntegerPow, int32_t, int64_t>)
      .gradient(pow_gradient);
}
OpDef xlogy_op() {
  return binary_op("Xlogy", "x * log(y), but 0 where x is 0.")
      .cpu(kFloating | kComplexes, elementwise<Xlogy, float, double, complex64, complex128>)
      .gradient(xlogy_gradient);
}
OpDef xlog1py_op() {
  return binary_op("Xlog1py", "x * log(1 + y), but 0 where x is 0.")
      .cpu(kFloating | kComplexes, elementwise<Xlog1py, float, double, complex64, complex128>)
      .gradient(xlog1py_gradient);
}

}  // namespace emplace
