// Add, AddV2, Sub, Mul, SquaredDifference, Maximum, Minimum, ClipByValue.
#include "cuda/elementwise.h"

#include "core/ops/formulas/arithmetic.h"

namespace emplace::cuda {
namespace {

template <class F>
constexpr KernelMaker kAny = elementwise_unsigned<F, float, double, half, bfloat16, uint8_t, uint16_t, uint32_t,
                                                  uint64_t, complex64, complex128>;

using Extreme = fn::OneOf<fn::Maximum, fn::Minimum>;
template <int which>
constexpr KernelMaker kExtreme = elementwise_choice<which, Extreme, float, double, half, bfloat16, int8_t, int16_t,
                                                    int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;

Status check_clip(const KernelContext& c) {
  for (int i = 1; i < 3; ++i) {
    const Shape& bound = c.input(i).shape();
    if (bound.rank() != 0 && bound != c.input(0).shape()) {
      return invalid_argument(
          "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. ");
    }
  }
  return ok_status();
}
Result<std::unique_ptr<Kernel>> clip(const KernelInit& init) {
  return elementwise_of<fn::Clip, float, double, half, bfloat16, int8_t, int16_t, int64_t, uint8_t, uint16_t>(
      base_type(init.input_types.back()), {}, {.check = check_clip});
}

}  // namespace

void add_arithmetic(KernelTable& table) {
  constexpr DTypeSet kReals = kRealNumbers.without(kHostInt32), kAll = kNumbers.without(kHostInt32);
  table.add("Add", kAll, kAny<fn::Add>);
  table.add("AddV2", kAll, kAny<fn::Add>);
  table.add("Sub", kAll, kAny<fn::Sub>);
  table.add("Mul", kAll, kAny<fn::Mul>);
  table.add("SquaredDifference", kFloating | DTypeSet{DType::kInt64},
            elementwise_unsigned<fn::SquaredDifference, float, double, half, bfloat16, uint64_t>);
  table.add("Maximum", kReals, kExtreme<0>);
  table.add("Minimum", kReals, kExtreme<1>);
  table.add("ClipByValue", kReals.without(DTypeSet{DType::kUInt32, DType::kUInt64}), clip);
  for (auto op : {"Add", "AddV2", "Sub", "Mul", "SquaredDifference", "Maximum", "Minimum", "ClipByValue"})
    table.add_host_code(op, kHostInt32);
}

}  // namespace emplace::cuda
