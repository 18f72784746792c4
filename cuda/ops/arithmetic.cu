// Add, AddV2, Sub, Mul, SquaredDifference, Maximum, Minimum, ClipByValue.
#include "cuda/elementwise.h"
#include "cuda/functions/arithmetic.h"

namespace emplace::cuda {
namespace {

template <class F>
constexpr KernelMaker kAny = elementwise_unsigned<F, float, double, half, bfloat16, uint8_t, uint16_t, uint32_t,
                                                  uint64_t, complex64, complex128>;

}  // namespace

void add_arithmetic(KernelTable& table) {
  constexpr DTypeSet kReals = kRealNumbers.without(kHostInt32), kAll = kNumbers.without(kHostInt32);
  table.add("Add", kAll, kAny<fn::Add>);
  table.add("AddV2", kAll, kAny<fn::Add>);
  table.add("Sub", kAll, kAny<fn::Sub>);
  table.add("Mul", kAll, kAny<fn::Mul>);
  table.add("SquaredDifference", kFloating | DTypeSet{DType::kInt64},
            elementwise_unsigned<fn::SquaredDifference, float, double, half, bfloat16, uint64_t>);
  for (auto op : {"Maximum", "Minimum"}) table.add(op, kReals, kOfReals<fn::Extreme>);
  table.add("ClipByValue", kReals.without(DTypeSet{DType::kUInt32, DType::kUInt64}),
            elementwise<fn::Clip, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t>);
  for (auto op : {"Add", "AddV2", "Sub", "Mul", "SquaredDifference", "Maximum", "Minimum", "ClipByValue"})
    table.add_host_code(op, kHostInt32);
}

}  // namespace emplace::cuda
