// LogicalAnd, LogicalOr, LogicalNot.
#include "core/ops/formulas/comparison.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
OpDef logical_and_op() {
  return OpDef("LogicalAnd")
      .doc("Are both true?")
      .shape(shape_broadcast)
      .may_overwrite_input()
      .cpu(elementwise<fn::And, bool>)
      .sample("x=bool[2,3]; y=bool[3]")
      .not_differentiable();
}
OpDef logical_or_op() {
  return OpDef("LogicalOr")
      .doc("Is either true?")
      .shape(shape_broadcast)
      .may_overwrite_input()
      .cpu(elementwise<fn::Or, bool>)
      .sample("x=bool[2,3]; y=bool[3]")
      .not_differentiable();
}
OpDef logical_not_op() {
  return OpDef("LogicalNot")
      .doc("Is it false?")
      .shape(shape_unchanged)
      .may_overwrite_input()
      .cpu(elementwise<fn::LogicalNot, bool>)
      .sample("x=bool[2,3]")
      .not_differentiable();
}

}  // namespace emplace
