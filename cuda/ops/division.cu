// Div, RealDiv, DivNoNan, MulNoNan, FloorDiv, FloorMod, TruncateDiv, Xdivy, Xlogy, Pow, Atan2. What an integer divided
// by zero gives is no error here, but all bits set (remainders: the dividend), since nobody waits for the device to
// find it.
#include "cuda/elementwise.h"
#include "cuda/functions/division.h"

namespace emplace::cuda {

void add_division(KernelTable& table) {
  constexpr DTypeSet kFractions = kFloating | kComplexes;
  table.add("Div", kFractions, kOfFractions<fn::Div>);
  for (auto op : {"Div", "FloorDiv", "TruncateDiv", "FloorMod"}) {
    table.add(op, kIntegers.without(kHostInt32),
              elementwise<fn::IntegerDivision, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>);
  }
  table.add("RealDiv", kFractions, kOfFractions<fn::Div>);
  table.add("DivNoNan", kFractions, kOfFractions<fn::NoNan>);
  table.add("MulNoNan", kFractions, kOfFractions<fn::NoNan>);
  table.add("Xdivy", kFractions, kOfFractions<fn::Xdivy>);
  table.add("Xlogy", kFractions, kOfFractions<fn::Xlogy>);
  table.add("FloorDiv", kFloating, kOfFloating<fn::RoundedQuotient>);
  table.add("TruncateDiv", kFloating, kOfFloating<fn::RoundedQuotient>);
  table.add("FloorMod", kFloating, kOfFloating<fn::FloorMod>);
  table.add("Pow", kFloating | kSigned.without(kHostInt32),
            elementwise<fn::Pow, float, double, half, bfloat16, int8_t, int16_t, int64_t>);
  table.add("Atan2", kFloating, kOfFloating<fn::Atan2>);
  for (auto op : {"Div", "FloorDiv", "FloorMod", "Mod", "TruncateMod"}) table.add_host_code(op, kHostInt32);
}

}  // namespace emplace::cuda
