// NcclAllReduce: a tensor reduced over several GPUs, one node on each. Its kernel is the CUDA plug-in's.
#include "core/op/op_def.h"

namespace emplace {
namespace {

Status same_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

/// For simulated GPUs, on which the members would have to meet.
Result<std::unique_ptr<Kernel>> only_on_cards(const KernelInit&) { return unimplemented("NcclAllReduce runs on CUDA GPUs only"); }

}  // namespace

OpDef nccl_all_reduce_op() {
  return OpDef("NcclAllReduce")
      .doc("The sum (product, max, min) over all nodes of one shared_name, each of which is on a GPU of its own.")
      .shape(same_shape)
      .cpu(DTypeSet{DType::kHalf, DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}, only_on_cards);
}

}  // namespace emplace
