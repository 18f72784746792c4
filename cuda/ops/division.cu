// Div, RealDiv, DivNoNan, MulNoNan, FloorDiv, FloorMod, TruncateDiv, Xdivy, Xlogy, Xlog1py, Pow, Atan2.
#include "cuda/elementwise.h"

#include "core/ops/formulas/division.h"

namespace emplace::cuda {
namespace {

template <int which>
constexpr KernelMaker kIntegerDivision =
    elementwise_choice<which, fn::OneOf<fn::IntegerDiv, fn::IntegerFloorDiv, fn::FloorMod>, int8_t, int16_t, int64_t,
                       uint8_t, uint16_t, uint32_t, uint64_t>;
template <int which>
constexpr KernelMaker kNoNan = elementwise_choice<which, fn::OneOf<fn::DivNoNan, fn::MulNoNan>, float, double, half,
                                                  bfloat16, complex64, complex128>;
template <int which>
constexpr KernelMaker kRoundedQuotient = kChoiceOfFloating<which, fn::OneOf<fn::FloorDiv, fn::TruncateDiv>>;

}  // namespace

void add_division(KernelTable& table) {
  constexpr DTypeSet kFractions = kFloating | kComplexes, kWhole = kIntegers.without(kHostInt32);
  for (auto op : {"Div", "RealDiv"}) table.add(op, kFractions, kOfFractions<fn::RealDiv>);
  for (auto op : {"Div", "TruncateDiv"}) table.add(op, kWhole, kIntegerDivision<0>);
  table.add("FloorDiv", kWhole, kIntegerDivision<1>);
  table.add("FloorMod", kWhole, kIntegerDivision<2>);
  table.add("DivNoNan", kFractions, kNoNan<0>);
  table.add("MulNoNan", kFractions, kNoNan<1>);
  table.add("Xdivy", kFractions, kOfFractions<fn::Xdivy>);
  table.add("Xlogy", kFractions, kOfFractions<fn::Xlogy>);
  table.add("Xlog1py", kFractions, kOfFractions<fn::Xlog1py>);
  table.add("FloorDiv", kFloating, kRoundedQuotient<0>);
  table.add("TruncateDiv", kFloating, kRoundedQuotient<1>);
  table.add("FloorMod", kFloating, kOfFloating<fn::FloorMod>);
  table.add("Pow", kFloating, kOfFloating<fn::Pow>);
  table.add("Pow", kSigned.without(kHostInt32), elementwise<fn::IntegerPow, int8_t, int16_t, int64_t>);
  table.add("Atan2", kFloating, kOfFloating<fn::Atan2>);
  for (auto op : {"Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod"}) table.add_host_code(op, kHostInt32);
}

}  // namespace emplace::cuda
