// Abs, Neg, Sign, Square, roots, reciprocals, and rounding to integers.
#include "cuda/elementwise.h"

#include "core/ops/formulas/unary.h"

namespace emplace::cuda {

void add_unary(KernelTable& table) {
  constexpr DTypeSet kInts = kSigned.without(kHostInt32);
  table.add("Abs", kFloating | kInts, elementwise<fn::Abs, float, double, half, bfloat16, int8_t, int16_t, int64_t>);
  table.add("Neg", kFloating | kInts | kComplexes,
            elementwise<fn::Neg, float, double, half, bfloat16, int8_t, int16_t, int64_t, complex64, complex128>);
  table.add("Sign", kFloating | kInts | kComplexes,
            elementwise<fn::Sign, float, double, half, bfloat16, int8_t, int16_t, int64_t, complex64, complex128>);
  table.add("Square", kRealNumbers.without(kHostInt32),
            elementwise_unsigned<fn::Square, float, double, half, bfloat16, uint8_t, uint16_t, uint32_t, uint64_t>);
  for (auto op : {"Abs", "Neg", "Sign", "Square"}) table.add_host_code(op, kHostInt32);
  table.add("Conj", kComplexes, elementwise<fn::Conj, complex64, complex128>);
  table.add("Sqrt", kFloating, kOfFloating<fn::Sqrt>);
  table.add("Rsqrt", kFloating, kOfFloating<fn::Rsqrt>);
  table.add("Reciprocal", kFloating | kComplexes, kOfFractions<fn::Reciprocal>);
  table.add("Inv", kFloating | kComplexes, kOfFractions<fn::Reciprocal>);
  using Rounding = fn::OneOf<fn::Floor, fn::Ceil, fn::Rint>;
  table.add("Floor", kFloating, kChoiceOfFloating<0, Rounding>);
  table.add("Ceil", kFloating, kChoiceOfFloating<1, Rounding>);
  for (auto op : {"Rint", "Round"}) table.add(op, kFloating, kChoiceOfFloating<2, Rounding>);
  using Kind = fn::OneOf<fn::IsNan, fn::IsInf, fn::IsFinite>;
  table.add("IsNan", kFloating, kChoiceOfFloating<0, Kind>);
  table.add("IsInf", kFloating, kChoiceOfFloating<1, Kind>);
  table.add("IsFinite", kFloating, kChoiceOfFloating<2, Kind>);
  table.add("Round", DTypeSet{DType::kInt32, DType::kInt64}, elementwise<fn::RoundInteger, int32_t, int64_t>);
}

}  // namespace emplace::cuda
