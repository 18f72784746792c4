// Abs, Neg, Sign, Square, roots, reciprocals, and rounding to integers.
#include "cuda/elementwise.h"
#include "cuda/functions/unary.h"

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
  table.add("Sqrt", kFloating, kOfFloating<fn::Sqrt>);
  table.add("Rsqrt", kFloating, kOfFloating<fn::Rsqrt>);
  table.add("Reciprocal", kFloating | kComplexes, kOfFractions<fn::Reciprocal>);
  table.add("Inv", kFloating | kComplexes, kOfFractions<fn::Reciprocal>);
  for (auto op : {"Floor", "Ceil", "Rint", "Round"}) table.add(op, kFloating, kOfFloating<fn::RoundTo>);
  for (auto op : {"IsNan", "IsInf", "IsFinite"}) table.add(op, kFloating, kOfFloating<fn::IsOfKind>);
  table.add("Round", DTypeSet{DType::kInt32, DType::kInt64}, elementwise<fn::RoundInteger, int32_t, int64_t>);
}

}  // namespace emplace::cuda
