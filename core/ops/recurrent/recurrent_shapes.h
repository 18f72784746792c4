/// Inputs and sizes that a recurrent layer and its gradients have in common.
#pragma once

#include "core/op/op_def.h"

namespace emplace {

/// Which input is what; the gradients have these, what the layer gave, and what arrives at its outputs.
struct RecurrentInputs {
  int r = 1, bias = -1, h = 2, c = -1, lengths = 3;
};
inline constexpr RecurrentInputs kLstmInputs{1, -1, 2, 3, 4}, kGruInputs{1, 2, 3, -1, 4}, kRnnInputs{1, -1, 2, -1, 3};

inline constexpr DTypeSet kRecurrentTypes{DType::kFloat};

/// The shape of all outputs of a layer, [steps, batch, hidden], from inputs that fit to each other.
Result<Shape> recurrent_output(ShapeContext& c, const RecurrentInputs& in, int gates);
/// None, or one per row of the batch, each at most `steps`.
Status check_lengths(const Tensor& lengths, int64_t batch, int64_t steps);
/// Of kGruLinear.
Status check_bias(const Tensor& bias, int64_t hidden);

}  // namespace emplace
