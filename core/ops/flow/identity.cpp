// Identity and the ops that only differ from it in what they mean to somebody else (gradients, optimizers).
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status forwarded_shapes(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(i));
    if (const HandleInfo* handle = c.input_handle(i)) c.set_output_handle(i, *handle);
  }
  return ok_status();
}

Status forward_all(KernelContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.forward_output(i, c.input(i));
  return ok_status();
}

OpDef forwarding(std::string_view name, std::string_view doc) {
  constexpr DTypeSet kAny = kMovable | DTypeSet{DType::kVariant};
  return OpDef(name).doc(doc).shape(forwarded_shapes).cpu(kAny, stateless<forward_all>).forwards_input();
}

Status forward_value(KernelContext& c) {
  if (base_type(c.input(0).dtype()) == DType::kResource)
    return invalid_argument("Input tensor cannot be a resource variable handle.");
  return forward_all(c);
}

Status identity_n_gradient(GradientContext& g) {
  for (int i = 0; i < g.num_inputs(); ++i) g.pass_on(i, i);
  return g.status();
}

Status prevented_gradient(GradientContext& g) {
  return failed_precondition(cat("Gradient explicitly disabled. Reason: ", g.attrs().text("message")));
}

}  // namespace

OpDef identity_op() {
  return forwarding("Identity", "Its input.")
      .traits({.partial_value = PartialValue::kInput,
               .of_sums = OfSums::kKeeps,
               .identity = true,
               .placed_with_source = true,
               .passes_host_memory_on = true})
      .gradient(identity_gradient);
}
OpDef stop_gradient_op() {
  return forwarding("StopGradient", "Its input, through which no gradient flows.")
      .traits({.of_sums = OfSums::kKeeps})
      .not_differentiable();
}
OpDef prevent_gradient_op() {
  return forwarding("PreventGradient", "Its input, whose gradient must not be asked for.").gradient(prevented_gradient);
}
OpDef deep_copy_op() { return forwarding("DeepCopy", "Its input, in memory of its own where something writes to it."); }
OpDef guarantee_const_op() {
  return OpDef("GuaranteeConst")
      .doc("Its input, of which the graph's author says that it never changes.")
      .shape(forwarded_shapes)
      .cpu(kMovable | DTypeSet{DType::kVariant}, stateless<forward_value>)
      .forwards_input();
}
OpDef snapshot_op() { return forwarding("Snapshot", "Its input."); }

OpDef identity_n_op() {
  return OpDef("IdentityN")
      .doc("All its inputs, in order.")
      .traits({.ignores_resource_inputs = true})
      .shape(forwarded_shapes)
      .cpu(stateless<forward_all>)
      .forwards_input()
      .gradient(identity_n_gradient);
}

}  // namespace emplace
