// Timestamp: what the clock says.
#include <chrono>

#include "core/op/op_def.h"

namespace emplace {
namespace {

Status timestamp_cpu(KernelContext& c) {
  using std::chrono::system_clock;
  *c.output(0).data<double>() = std::chrono::duration<double>(system_clock::now().time_since_epoch()).count();
  return ok_status();
}

}  // namespace

OpDef timestamp_op() {
  return OpDef("Timestamp")
      .doc("Seconds since 1970, when the node runs.")
      .shape(shape_scalar)
      .cpu(stateless<timestamp_cpu>)
      .not_differentiable();
}

}  // namespace emplace
