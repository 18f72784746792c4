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

constexpr int kRecurrentRows = 8;  // of a block, at most
/// So many share a block: more read the weights less often, fewer leave more blocks to do beside each other.
constexpr int64_t recurrent_block_rows(int64_t batch) { return batch >= 2 * kRecurrentRows ? kRecurrentRows : 4; }

/// The matrix r [hidden, gates * hidden] of a layer, as products read it: as it lies, or column by column of panels so
/// wide as the sums that are at work at a time, so that each is one run of memory.
class RecurrentWeights {
 public:
  /// For this processor.
  static RecurrentWeights as_they_lie(RecurrentKind kind, int64_t hidden, const float* r);
  /// `packed`: packed_size() of them, filled by pack().
  static RecurrentWeights of_panels(RecurrentKind kind, int64_t hidden, const float* packed);
  /// The same on every processor.
  static int64_t packed_size(RecurrentKind kind, int64_t hidden);
  static void pack(RecurrentKind kind, int64_t hidden, const float* r, float* packed);

  /// Gates that are computed at once, from the first on: `part` 0 has all, but for those of GRU's hidden gate, part 1.
  struct Part {
    const float* at;
    int64_t row_step, panel_step;  // elements from one row, one panel to the next
  };
  const Part& part(int number) const { return parts_[number]; }

 private:
  Part parts_[2] = {};
};

struct RecurrentBlock {
  int64_t steps, batch, hidden;
  const float* x;  // [steps, batch, gates * hidden]: what the gates get of the input, biases included
  RecurrentWeights r;
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
