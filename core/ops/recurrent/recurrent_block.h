/// A layer of recurrent cells over some rows of a batch: one step after the other, the state in cache.
#pragma once

#include <cstdint>

namespace emplace {

enum class RecurrentKind : uint8_t { kRnnTanh, kRnnRelu, kGru, kGruLinear, kLstm };

/// Gates that a cell computes at once.
constexpr int gates_of(RecurrentKind kind) {
  if (kind == RecurrentKind::kLstm) return 4;
  return kind == RecurrentKind::kGru || kind == RecurrentKind::kGruLinear ? 3 : 1;
}

constexpr int kRecurrentRows = 4;  // of a block, at most

struct RecurrentBlock {
  int64_t steps, batch, hidden;
  const float* x;       // [steps, batch, gates * hidden]: what the gates get of the input, biases included
  const float* r;       // [hidden, gates * hidden]
  const float* bias;    // kGruLinear: [hidden], of the hidden gate, which the reset gate scales
  const float* h;       // [batch, hidden]: first states
  const float* c;       // likewise, of kLstm
  int64_t first, rows;  // of the batch
  int64_t lengths[kRecurrentRows];
  bool reverse;
  float *y, *h_last, *c_last;  // [steps, batch, hidden], [batch, hidden]
  float* room;                 // recurrent_room() of them
};

constexpr int64_t recurrent_room(RecurrentKind kind, int64_t hidden) {
  return kRecurrentRows * hidden * (gates_of(kind) + 3);
}

using RecurrentCode = void (*)(const RecurrentBlock&);
/// For this processor.
RecurrentCode recurrent_code(RecurrentKind kind);

}  // namespace emplace
