// NcclAllReduce: a tensor reduced over several GPUs, one node on each. Its kernel is the CUDA plug-in's.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"

namespace emplace {
namespace {

Status same_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

/// For simulated GPUs, on which the members would have to meet.
Result<std::unique_ptr<Kernel>> only_on_cards(const KernelInit&) {
  return unimplemented("NcclAllReduce runs on CUDA GPUs only");
}

// The members' gradients are summed, too, by a node for each.
Status all_reduce_gradient(GradientContext& g) {
  if (g.attrs().text("reduction") != "sum")
    return unimplemented("No gradient defined for NcclAllReduce except for reduction=\"sum\".");
  GradientContext::AttrList attrs = g.copy_attrs({"reduction", "num_devices"});
  attrs.emplace_back("shared_name", AttrValue::of(cat(g.attrs().text("shared_name"), "_grad")));
  g.set(0, g.add("NcclAllReduce", {g.grad(0)}, std::move(attrs)));
  return g.status();
}

}  // namespace

OpDef nccl_all_reduce_op() {
  return OpDef("NcclAllReduce")
      .doc("The sum (product, max, min) over all nodes of one shared_name, each of which is on a GPU of its own.")
      .traits({.collective = true})
      .shape(same_shape)
      .gradient(all_reduce_gradient)
      .cpu(DTypeSet{DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}, only_on_cards);
}

}  // namespace emplace
