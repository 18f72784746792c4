// Add, AddV2, Sub, Mul, SquaredDifference, Maximum, Minimum: two operands, broadcast as NumPy does.
#include "core/ops/elementwise.h"
#include "core/ops/numeric.h"

namespace emplace {
namespace {

struct Add {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) { return add(a, b); }
};
struct Sub {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) { return subtract(a, b); }
};
struct Mul {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) { return multiply(a, b); }
};
struct SquaredDifference {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) {
    const T difference = subtract(a, b);
    if constexpr (kIsComplex<T>) return std::conj(difference) * difference;
    else return multiply(difference, difference);
  }
};
struct Maximum {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) { return maximum(a, b); }
};
struct Minimum {
  template <class T>
  EMPLACE_INLINE static T apply(T a, T b) { return minimum(a, b); }
};

template <class F>
constexpr KernelMaker kReal = elementwise<F, float, double, int32_t, int64_t, uint64_t>;
template <class F>
constexpr KernelMaker kAny = elementwise<F, float, double, int32_t, int64_t, uint64_t, complex64, complex128>;

}  // namespace

OpDef add_op() {
  return binary_op("Add", "x + y, element by element; strings are joined.")
      .cpu(kNumbers.without(DTypeSet{DType::kUInt16, DType::kUInt32, DType::kUInt64}), kAny<Add>)
      .cpu<std::string>(elementwise<Add, std::string>);
}
OpDef add_v2_op() { return binary_op("AddV2", "x + y, element by element.").cpu(kNumbers, kAny<Add>); }
OpDef sub_op() { return binary_op("Sub", "x - y, element by element.").cpu(kNumbers, kAny<Sub>); }
OpDef mul_op() { return binary_op("Mul", "x * y, element by element.").cpu(kNumbers, kAny<Mul>); }
OpDef squared_difference_op() {
  return binary_op("SquaredDifference", "conj(x - y) * (x - y), element by element.")
      .cpu(kFloatDouble | kComplexes | DTypeSet{DType::kInt32, DType::kInt64},
           elementwise<SquaredDifference, float, double, int32_t, int64_t, complex64, complex128>)
      .cpu(kHalves, elementwise<SquaredDifference, half, bfloat16>);
}
OpDef maximum_op() { return binary_op("Maximum", "The larger of x and y; NaN if either is.").cpu(kRealNumbers, kReal<Maximum>); }
OpDef minimum_op() { return binary_op("Minimum", "The smaller of x and y; NaN if either is.").cpu(kRealNumbers, kReal<Minimum>); }

}  // namespace emplace
