/// The gradients of a layer of recurrent cells, but for products of matrices: what gates and cells were, and what each
/// step gives back. core/ops/recurrent/recurrent_gradients.cpp puts the products between them, all steps at once where
/// it can.
#pragma once

#include <cstdint>

#include "core/ops/recurrent/recurrent_block.h"

namespace emplace {

/// Names and shapes are RecurrentBlock's. "By step": [steps, batch, ...], a place at() for each step of each row.
struct RecurrentBackward {
  int64_t steps, batch, hidden;
  bool reverse;
  const int32_t* lengths;  // [batch]; null: all rows have all steps
  const float *x, *r, *bias, *h, *c;
  const float* y;                       // what the layer gave
  const float *dy, *dh_last, *dc_last;  // what arrives
  float *dx, *dr, *dbias, *dh, *dc;     // dx has zeros where a sequence has ended
  // By step; zeros where a sequence has ended.
  float* before;   // [hidden]: the state that the step begins with
  float* gates;    // [gates * hidden]: what the state gives to the gates; after gates() and fresh() what they are
  float* cells;    // kLstm: [hidden]
  float* product;  // of GRU, [hidden]: what the state gives to the fresh one
  float* inner;    // of GRU, [hidden]: reset * state; of kGruLinear the gradient of the product
  int64_t length(int64_t row) const { return lengths ? lengths[row] : steps; }
  /// Where step s of a row is, in the order in which the cells saw them.
  int64_t at(int64_t row, int64_t s) const { return (reverse ? length(row) - 1 - s : s) * batch + row; }
};

/// Has the kind gates whose values do not follow from y?
constexpr bool has_hidden_gates(RecurrentKind kind) { return gates_of(kind) > 1; }

struct RecurrentBackwardCode {
  /// Of all steps of one row: gates and cells; of GRU all but the fresh state.
  void (*gates)(const RecurrentBackward&, int64_t row);
  /// Of GRU, after `product`: the fresh state.
  void (*fresh)(const RecurrentBackward&, int64_t row);
  /// Step s of a row: from dh and dc, which arrive at what it gave, its dx, and dc of what it began with. Of GRU not
  /// that of the reset gate, and dh as it goes past the gates.
  void (*step)(const RecurrentBackward&, int64_t row, int64_t s, float* dh, float* dc);
  /// Of GRU: what the reset gate gets, and gives on; `back`: what the product that it scales gives to the state.
  void (*reset)(const RecurrentBackward&, int64_t row, int64_t s, const float* back, float* dh);
};
/// For this processor.
RecurrentBackwardCode recurrent_backward_code(RecurrentKind kind);

}  // namespace emplace
