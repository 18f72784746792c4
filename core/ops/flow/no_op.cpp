// NoOp and ControlTrigger: nothing to compute, a point for control edges to meet.
#include "core/op/op_def.h"

namespace emplace {
namespace {
Status no_op_cpu(KernelContext&) { return ok_status(); }
}  // namespace

OpDef no_op() {
  return OpDef("NoOp")
      .doc("Does nothing; groups control inputs.")
      .traits({.does_nothing = true})
      .shape(shape_none)
      .cpu(stateless<no_op_cpu>);
}
OpDef control_trigger_op() {
  return OpDef("ControlTrigger")
      .doc("Does nothing; waits for its control inputs, and runs even if they are dead.")
      .traits({.control = Control::kTrigger})
      .shape(shape_none)
      .cpu(stateless<no_op_cpu>);
}

}  // namespace emplace
