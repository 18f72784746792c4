#include "core/ops/random/rng_state.h"

#include "core/base/cat.h"
#include "core/ops/random/random_state.h"
#include "core/ops/state/variable_state.h"

namespace emplace {

Status check_rng_algorithm(int64_t algorithm) {
  constexpr int64_t kThreeFry = 2;
  if (algorithm == kPhilox || algorithm == kAutomatic) return ok_status();
  if (algorithm == kThreeFry) return unimplemented("Non-XLA devices don't support the ThreeFry algorithm.");
  return invalid_argument(cat("Unsupported algorithm id: ", algorithm));
}

Status check_rng_state(const Variable& variable) {
  const Tensor& state = variable.value;
  if (!state.valid()) return no_such_variable(variable);
  if (state.dtype() != DType::kInt64)
    return invalid_argument(cat("dtype of RNG state variable must be int64, not ", dtype_name(state.dtype())));
  if (state.shape().rank() != 1) {
    return invalid_argument(cat("RNG state must have one and only one dimension, not ", state.shape().rank()));
  }
  if (state.num_elements() < kRngStateWords) {
    return invalid_argument(cat("For the Philox algorithm, the size of state must be at least ", kRngStateWords,
                                "; got ", state.num_elements()));
  }
  return ok_status();
}

Result<PhiloxStream> take_rng_numbers(KernelContext& c, uint64_t numbers) {
  RETURN_IF_ERROR(check_rng_algorithm(int_at(c.input(1), 0)));
  Variable& v = c.variable(0);
  std::lock_guard lock(v.mutex);
  RETURN_IF_ERROR(check_rng_state(v));
  RETURN_IF_ERROR(own_value(c, v));
  int64_t* state = v.value.data<int64_t>();
  const PhiloxStream stream(static_cast<uint64_t>(state[2]), static_cast<uint64_t>(state[0]),
                            static_cast<uint64_t>(state[1]));
  move_rng_counter(state, numbers * kRngBlocksPerNumber);
  return stream;
}

}  // namespace emplace
