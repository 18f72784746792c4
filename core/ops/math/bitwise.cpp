// BitwiseAnd, BitwiseOr, BitwiseXor, Invert, LeftShift, RightShift, PopulationCount.
#include "core/ops/formulas/comparison.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

template <class F>
constexpr KernelMaker kBits = elementwise<F, int32_t, int64_t, uint64_t>;
template <class F>
constexpr KernelMaker kShift = elementwise<F, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

OpDef integers(std::string_view name, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(shape_broadcast)
      .may_overwrite_input()
      .sample("x=i32[2,3] uniform(-100,100); y=i32[3] uniform(0,31)");
}

}  // namespace

OpDef bitwise_and_op() {
  return integers("BitwiseAnd", "The bits set in both.").cpu(kIntegers, kBits<fn::And>).not_differentiable();
}
OpDef bitwise_or_op() {
  return integers("BitwiseOr", "The bits set in either.").cpu(kIntegers, kBits<fn::Or>).not_differentiable();
}
OpDef bitwise_xor_op() {
  return integers("BitwiseXor", "The bits set in one of both.").cpu(kIntegers, kBits<fn::Xor>).not_differentiable();
}
OpDef left_shift_op() {
  return integers("LeftShift", "x shifted left by y bits.").cpu(kIntegers, kShift<fn::LeftShift>).not_differentiable();
}
OpDef right_shift_op() {
  return integers("RightShift", "x shifted right by y bits; signed integers keep their sign.")
      .cpu(kIntegers, kShift<fn::RightShift>)
      .not_differentiable();
}
OpDef invert_op() {
  return OpDef("Invert")
      .doc("All bits flipped.")
      .shape(shape_unchanged)
      .may_overwrite_input()
      .cpu(kIntegers, kBits<fn::Invert>)
      .sample("x=i32[2,3] uniform(-100,100)")
      .not_differentiable();
}

OpDef population_count_op() {
  return OpDef("PopulationCount")
      .doc("How many bits are set.")
      .shape(shape_unchanged)
      .cpu(kIntegers, kShift<fn::PopulationCount>)
      .not_differentiable();
}

}  // namespace emplace
