// Comparisons, logic, and operations on bits.
#include "cuda/elementwise.h"
#include "cuda/functions/comparison.h"

namespace emplace::cuda {
namespace {

template <class F>
constexpr KernelMaker kBits = elementwise_unsigned<F, uint8_t, uint16_t, uint32_t, uint64_t>;

}  // namespace

void add_comparison(KernelTable& table) {
  constexpr DTypeSet kReals = kRealNumbers.without(kHostInt32), kAll = kNumbersAndBool.without(kHostInt32);
  for (auto op : {"Less", "LessEqual", "Greater", "GreaterEqual"}) table.add(op, kReals, kOfReals<fn::Compare>);
  for (auto op : {"Equal", "NotEqual"}) {
    table.add(op, kReals, kOfReals<fn::Compare>);
    table.add(op, kAll, elementwise<fn::Compare, bool, complex64, complex128>);
  }
  for (auto op : {"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"})
    table.add_host_code(op, kHostInt32);

  table.add("LogicalAnd", kAnyType, elementwise<fn::CombineBits, bool>);
  table.add("LogicalOr", kAnyType, elementwise<fn::CombineBits, bool>);
  table.add("LogicalNot", kAnyType, elementwise<fn::LogicalNot, bool>);
  table.add("BitwiseAnd", kIntegers, kBits<fn::CombineBits>);
  table.add("BitwiseOr", kIntegers, kBits<fn::CombineBits>);
  table.add("BitwiseXor", kIntegers, kBits<fn::CombineBits>);
  table.add("Invert", kIntegers, kBits<fn::Invert>);
  table.add("LeftShift", kIntegers, kOfIntegers<fn::ShiftBits>);
  table.add("RightShift", kIntegers, kOfIntegers<fn::ShiftBits>);
}

}  // namespace emplace::cuda
