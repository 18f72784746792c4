// Comparisons, logic, and operations on bits.
#include "cuda/elementwise.h"

#include "core/ops/formulas/comparison.h"

namespace emplace::cuda {
namespace {

using Order = fn::OneOf<fn::Less, fn::LessEqual, fn::Greater, fn::GreaterEqual, fn::Equal, fn::NotEqual>;
using Equality = fn::OneOf<fn::Equal, fn::NotEqual>;
using Logic = fn::OneOf<fn::And, fn::Or, fn::Xor>;
using Shift = fn::OneOf<fn::LeftShift, fn::RightShift>;

template <int which>
Result<std::unique_ptr<Kernel>> order(const KernelInit& init) {
  FunctionRules rules;
  if (which == 4) rules.if_incompatible = fn::Equal::kOfIncompatible;
  if (which == 5) rules.if_incompatible = fn::NotEqual::kOfIncompatible;
  return elementwise_of<Order, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t,
                        uint64_t>(base_type(init.input_types.back()), {which}, rules);
}
template <int which, class F>
Result<std::unique_ptr<Kernel>> equality(const KernelInit& init) {
  return elementwise_of<Equality, bool, complex64, complex128>(base_type(init.input_types.back()), {which},
                                                               {.if_incompatible = F::kOfIncompatible});
}
template <int which>
Result<std::unique_ptr<Kernel>> bits(const KernelInit& init) {
  return elementwise_of<Logic, uint8_t, uint16_t, uint32_t, uint64_t>(unsigned_of(base_type(init.input_types.back())),
                                                                      {which});
}
Result<std::unique_ptr<Kernel>> approximately(const KernelInit& init) {
  return elementwise_of<fn::ApproximateEqual, float, double>(base_type(init.input_types[0]),
                                                             {init.attrs.number("tolerance")});
}
template <int which>
constexpr KernelMaker kShift =
    elementwise_choice<which, Shift, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

}  // namespace

void add_comparison(KernelTable& table) {
  constexpr DTypeSet kReals = kRealNumbers.without(kHostInt32), kAll = kNumbersAndBool.without(kHostInt32);
  table.add("Less", kReals, order<0>);
  table.add("LessEqual", kReals, order<1>);
  table.add("Greater", kReals, order<2>);
  table.add("GreaterEqual", kReals, order<3>);
  table.add("Equal", kReals, order<4>);
  table.add("NotEqual", kReals, order<5>);
  table.add("Equal", kAll, equality<0, fn::Equal>);
  table.add("NotEqual", kAll, equality<1, fn::NotEqual>);
  table.add("ApproximateEqual", kFloatDouble, approximately);
  for (auto op : {"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"})
    table.add_host_code(op, kHostInt32);

  table.add("LogicalAnd", kAnyType, elementwise_choice<0, Logic, bool>);
  table.add("LogicalOr", kAnyType, elementwise_choice<1, Logic, bool>);
  table.add("LogicalNot", kAnyType, elementwise<fn::LogicalNot, bool>);
  table.add("BitwiseAnd", kIntegers, bits<0>);
  table.add("BitwiseOr", kIntegers, bits<1>);
  table.add("BitwiseXor", kIntegers, bits<2>);
  table.add("Invert", kIntegers, elementwise_unsigned<fn::Invert, uint8_t, uint16_t, uint32_t, uint64_t>);
  table.add("PopulationCount", kIntegers.without(DTypeSet{DType::kUInt32, DType::kUInt64}),
            elementwise_unsigned<fn::PopulationCount, uint8_t, uint16_t, uint32_t, uint64_t>);
  table.add("LeftShift", kIntegers, kShift<0>);
  table.add("RightShift", kIntegers, kShift<1>);
}

}  // namespace emplace::cuda
