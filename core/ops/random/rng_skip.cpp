// RngReadAndSkip, RngSkip: take numbers of the stream that a variable holds.
#include <algorithm>

#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/random/rng_state.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

Status skip_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  if (c.num_outputs() > 0) c.set_output(0, Shape{kRngStateWords});
  return ok_status();
}

/// The state as it was, if that is an output; then its counter moves on.
Status skip(KernelContext& c) {
  RETURN_IF_ERROR(check_rng_algorithm(int_at(c.input(1), 0)));
  Variable& v = c.variable(0);
  std::lock_guard lock(v.mutex);
  RETURN_IF_ERROR(check_rng_state(v));
  RETURN_IF_ERROR(own_value(c, v));
  int64_t* state = v.value.data<int64_t>();
  if (c.num_outputs() > 0) std::copy_n(state, kRngStateWords, c.out<int64_t>(0));
  move_rng_counter(state, static_cast<const uint64_t*>(c.input(2).raw())[0] * kRngBlocksPerNumber);
  return ok_status();
}

}  // namespace

OpDef rng_read_and_skip_op() {
  return OpDef("RngReadAndSkip")
      .doc("The state of a random number generator, of whose stream `delta` numbers are taken.")
      .traits({.writes_variable = true})
      .shape(skip_shape)
      .cpu(stateless<skip>)
      .not_differentiable();
}
OpDef rng_skip_op() {
  return OpDef("RngSkip")
      .doc("Takes `delta` numbers of a random number generator's stream.")
      .traits({.writes_variable = true})
      .shape(skip_shape)
      .cpu(stateless<skip>);
}

}  // namespace emplace
