/// The gradients of a layer of recurrent cells: a row of a batch, last step first, then the weights of the states.
#pragma once

#include <cstdint>

#include "core/ops/recurrent/recurrent_block.h"

namespace emplace {

/// Names and shapes are RecurrentBlock's.
struct RecurrentBackward {
  int64_t steps, batch, hidden;
  bool reverse;
  const int32_t* lengths;  // [batch]; null: all rows have all steps
  const float *x, *r, *bias, *h, *c;
  const float* y;                       // what the layer gave
  const float *dy, *dh_last, *dc_last;  // what arrives
  float *dx, *dr, *dbias, *dh, *dc;     // dx has zeros where a sequence has ended
  float* before;                        // [steps, batch, hidden]: the states that the steps begin with
  float* inner;                         // of GRU, likewise: reset * state; of kGruLinear the gradient of its product
  float* room;                          // [batch, recurrent_backward_room()]
  int64_t length(int64_t row) const { return lengths ? lengths[row] : steps; }
};

/// Gates and cells, which are computed once more, are kept for all steps; those of plain cells follow from y.
constexpr int64_t recurrent_backward_room(RecurrentKind kind, int64_t steps, int64_t hidden) {
  const int kept = kind == RecurrentKind::kLstm ? 5 : gates_of(kind) == 3 ? 4 : 0;
  return hidden * (steps * kept + 2);
}

struct RecurrentBackwardCode {
  /// All but dr and dbias, of one row of the batch.
  void (*row)(const RecurrentBackward&, int64_t row);
  /// Rows [from, to) of dr; after row() of all rows.
  void (*weights)(const RecurrentBackward&, int64_t from, int64_t to);
};
/// For this processor.
RecurrentBackwardCode recurrent_backward_code(RecurrentKind kind);

}  // namespace emplace
