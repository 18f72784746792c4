#include "core/ops/recurrent/recurrent_block.h"

#include <algorithm>
#include <cstring>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/vector_math.h"

namespace emplace {
namespace {

// A panel is two registers wide.
constexpr int64_t kBasePanel = 8, kV3Panel = 16, kV4Panel = 32, kWidestPanel = 32;
int64_t panel_width() { return for_isa<int64_t>(kBasePanel, kV3Panel, kV4Panel); }

int64_t part_columns(RecurrentKind kind, int64_t hidden, int part) {
  if (gates_of(kind) != 3) return part == 0 ? gates_of(kind) * hidden : 0;
  return part == 0 ? 2 * hidden : hidden;
}

/// What a product reads and writes: columns [0, columns) of y = start + h [rows, depth] times r [depth, columns].
struct StepProduct {
  const float* const* start;  // by row
  const float* h;
  RecurrentWeights::Part r;
  int64_t depth, columns;
  float* y;
  int64_t y_step;  // from row to row

  // Row 0, columns from j on. REQUIRES: kPanel divides j, or they are in one panel.
  template <int64_t kPanel>
  EMPLACE_INLINE const float* weights(int64_t j) const {
    return r.at + j / kPanel * r.panel_step + j % kPanel;
  }
};

/// Columns [j, j + N * W) of M rows. They stay in registers, as vectors of W elements: of arrays of numbers the
/// compiler makes memory. `kPanel`: at least N * W if the columns lie side by side.
template <int M, int N, int W, int64_t kPanel>
EMPLACE_INLINE void product_tile(const StepProduct& p, int64_t j) {
  typedef float Vector __attribute__((vector_size(W * sizeof(float))));
  constexpr int64_t kOfPanel = kPanel / W;  // vectors
  constexpr int kPanels = N > kOfPanel ? N / kOfPanel : 1;
  Vector sum[M][N], in;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int q = 0; q < N; ++q) std::memcpy(&sum[m][q], p.start[m] + j + q * W, sizeof in);
  }
  const float* rows[kPanels];
#pragma GCC unroll 4
  for (int i = 0; i < kPanels; ++i) rows[i] = p.weights<kPanel>(j + i * kPanel);
  const float* h = p.h;
  const int64_t depth = p.depth, row_step = p.r.row_step;
  for (int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 8
    for (int q = 0; q < N; ++q) {
      std::memcpy(&in, rows[q / kOfPanel] + q % kOfPanel * W, sizeof in);
#ifdef __x86_64__
      if constexpr (M > 1) __asm__("" : "+v"(in));  // in a register: the compiler would read it once for every row
#endif
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) sum[m][q] += h[m * depth + k] * in;
    }
#pragma GCC unroll 4
    for (int i = 0; i < kPanels; ++i) rows[i] += row_step;
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int q = 0; q < N; ++q) std::memcpy(p.y + m * p.y_step + j + q * W, &sum[m][q], sizeof in);
  }
}

/// `kFuses`: product and sum are rounded once, as in vectors; the compiler would multiply several products at a time
/// first.
template <int M, int64_t kPanel, bool kFuses>
EMPLACE_INLINE void product_column(const StepProduct& p, int64_t j) {
  float sum[M];
  for (int m = 0; m < M; ++m) sum[m] = p.start[m][j];
  const float* r = p.weights<kPanel>(j);
  for (int64_t k = 0; k < p.depth; ++k) {
    const float in = r[k * p.r.row_step];
    for (int m = 0; m < M; ++m) {
      const float h = p.h[m * p.depth + k];
      sum[m] = kFuses ? __builtin_fmaf(h, in, sum[m]) : sum[m] + h * in;
    }
  }
  for (int m = 0; m < M; ++m) p.y[m * p.y_step + j] = sum[m];
}

/// Of weights as they lie, in panels of `kWidth` columns.
template <int64_t kWidth>
EMPLACE_INLINE StepProduct in_wider_panels(StepProduct p) {
  p.r.panel_step = kWidth;
  return p;
}

/// `kSums`: vectors of sums that are at work at a time, if there are so many columns.
template <int M, int W, int kSums>
EMPLACE_INLINE void product_body(const StepProduct& p) {
  constexpr int64_t kPanel = 2 * W;
  constexpr int kVectors = kSums / M;
  int64_t j = 0;
  if constexpr (M == 1) {  // one row reads the weights as fast as they come: one pointer to them is better than four
    constexpr int64_t kWidth = kVectors * W;
    const bool side_by_side = p.r.panel_step == kPanel;
    for (; side_by_side && j + kWidth <= p.columns; j += kWidth)
      product_tile<M, kVectors, W, kWidth>(in_wider_panels<kWidth>(p), j);
  }
  for (; j + kVectors * W <= p.columns; j += kVectors * W) product_tile<M, kVectors, W, kPanel>(p, j);
  for (; j + W <= p.columns; j += W) product_tile<M, 1, W, kPanel>(p, j);
  if constexpr (W > 8) {
    for (; j + 8 <= p.columns; j += 8) product_tile<M, 1, 8, kPanel>(p, j);
  }
  for (; j < p.columns; ++j) product_column<M, kPanel, (W > 4)>(p, j);
}

// Called, not inlined: most of a step's time is in the loop, and every kind of cell would have several copies of it.
using ProductCode = void(const StepProduct& p);
// Vectors of sums: as many as hide how long one takes, and a number of panels. AVX-512 has registers for more, which
// reads h less often.
constexpr int sums_of(int rows, bool wide) {
  if (rows == 3) return wide ? 12 : 6;
  return wide && rows >= 4 ? 16 : 8;
}
template <int M>
void product_base(const StepProduct& p) {
  product_body<M, 4, sums_of(M, false)>(p);
}
template <int M>
EMPLACE_TARGET_V3 void product_v3(const StepProduct& p) {
  product_body<M, 8, sums_of(M, false)>(p);
}
template <int M>
EMPLACE_TARGET_V4 void product_v4(const StepProduct& p) {
  product_body<M, 16, sums_of(M, true)>(p);
}

/// By rows; of the numbers between, several smaller ones do the work.
struct Products {
  ProductCode *one, *two, *three, *four, *eight;
  static int most_of(int64_t rows) { return rows >= 8 ? 8 : rows >= 4 ? 4 : static_cast<int>(rows); }
  EMPLACE_INLINE ProductCode* of(int rows) const {
    return rows == 1 ? one : rows == 2 ? two : rows == 3 ? three : rows == 4 ? four : eight;
  }
};

/// What a block keeps from step to step.
struct RecurrentRoom {
  float *h, *c, *other, *gates;
};

EMPLACE_INLINE void lstm_cells(float* gates, float* h, float* c, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float in = sigmoid_of(gates[i]), out = sigmoid_of(gates[n + i]), forget = sigmoid_of(gates[2 * n + i]);
    c[i] = forget * c[i] + in * tanh_of(gates[3 * n + i]);
    h[i] = out * tanh_of(c[i]);
  }
}

/// h = (1 - z) fresh + z h.
EMPLACE_INLINE void gru_states(const float* z, const float* fresh, float* h, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) h[i] = (1.0f - z[i]) * tanh_of(fresh[i]) + z[i] * h[i];
}

template <RecurrentKind kind>
EMPLACE_INLINE void recurrent_step(const Products& code, const RecurrentBlock& b, const RecurrentRoom& room,
                                   const float* const* x, int rows) {
  constexpr int kGates = gates_of(kind);
  ProductCode* const product = code.of(rows);
  const int64_t n = b.hidden, pitch = kGates * n;
  const StepProduct all{x, room.h, b.r.part(0), n, kGates == 3 ? 2 * n : pitch, room.gates, pitch};
  product(all);
  if constexpr (kind == RecurrentKind::kLstm) {
    for (int m = 0; m < rows; ++m) lstm_cells(room.gates + m * pitch, room.h + m * n, room.c + m * n, n);
  } else if constexpr (kGates == 3) {
    constexpr bool kLinear = kind == RecurrentKind::kGruLinear;
    const float* hidden_start[kRecurrentRows];
    for (int m = 0; m < rows; ++m) hidden_start[m] = kLinear ? b.bias : x[m] + 2 * n;
    const StepProduct hidden{hidden_start, kLinear ? room.h : room.other, b.r.part(1), n, n, room.gates + 2 * n, pitch};
    if (kLinear) product(hidden);
    for (int m = 0; m < rows; ++m) {
      float *z = room.gates + m * pitch, *reset = z + n, *fresh = z + 2 * n, *scaled = room.other + m * n;
      const float *h = room.h + m * n, *own = x[m] + 2 * n;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        z[i] = sigmoid_of(z[i]);
        if (kLinear)
          fresh[i] = own[i] + sigmoid_of(reset[i]) * fresh[i];
        else
          scaled[i] = sigmoid_of(reset[i]) * h[i];
      }
    }
    if (!kLinear) product(hidden);
    for (int m = 0; m < rows; ++m) {
      gru_states(room.gates + m * pitch, room.gates + m * pitch + 2 * n, room.h + m * n, n);
    }
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < rows * n; ++i)
      room.h[i] = kind == RecurrentKind::kRnnTanh ? tanh_of(room.gates[i]) : std::max(room.gates[i], 0.0f);
  }
}

/// `rows` of the block from row `from` on, for which there is a product. Those whose sequence has ended keep their
/// state, and put out zeros.
template <RecurrentKind kind>
EMPLACE_INLINE void recurrent_rows(const Products& code, const RecurrentBlock& b, int64_t from, int rows) {
  const int64_t n = b.hidden, row = gates_of(kind) * n, first = b.first + from, *lengths = b.lengths + from;
  const auto bytes = static_cast<size_t>(n) * sizeof(float), all_bytes = static_cast<size_t>(rows) * bytes;
  const RecurrentRoom room{b.room, b.room + rows * n, b.room + 2 * rows * n, b.room + 3 * rows * n};
  std::memcpy(room.h, b.h + first * n, all_bytes);
  if (kind == RecurrentKind::kLstm) std::memcpy(room.c, b.c + first * n, all_bytes);
  for (int64_t s = 0; s < b.steps; ++s) {
    const float* x[kRecurrentRows];
    bool all = true;
    for (int m = 0; m < rows; ++m) {
      const int64_t t = b.reverse && s < lengths[m] ? lengths[m] - 1 - s : s;
      x[m] = b.x + (t * b.batch + first + m) * row;
      all = all && s < lengths[m];
    }
    if (all) recurrent_step<kind>(code, b, room, x, rows);
    for (int m = 0; m < rows; ++m) {
      const bool lives = s < lengths[m];
      if (lives && !all) {
        const RecurrentRoom own{room.h + m * n, room.c + m * n, room.other + m * n, room.gates + m * row};
        recurrent_step<kind>(code, b, own, x + m, 1);
      }
      float* y = b.y + ((lives && b.reverse ? lengths[m] - 1 - s : s) * b.batch + first + m) * n;
      lives ? std::memcpy(y, room.h + m * n, bytes) : std::memset(y, 0, bytes);
    }
  }
  std::memcpy(b.h_last + first * n, room.h, all_bytes);
  if (kind == RecurrentKind::kLstm) std::memcpy(b.c_last + first * n, room.c, all_bytes);
}

template <RecurrentKind kind>
EMPLACE_INLINE void recurrent_body(const Products& code, const RecurrentBlock& b) {
  for (int64_t from = 0; from < b.rows;) {
    const int rows = Products::most_of(b.rows - from);
    recurrent_rows<kind>(code, b, from, rows);
    from += rows;
  }
}
template <RecurrentKind kind>
void recurrent_base(const RecurrentBlock& b) {
  recurrent_body<kind>({product_base<1>, product_base<2>, product_base<3>, product_base<4>, product_base<8>}, b);
}
template <RecurrentKind kind>
EMPLACE_TARGET_V3 void recurrent_v3(const RecurrentBlock& b) {
  recurrent_body<kind>({product_v3<1>, product_v3<2>, product_v3<3>, product_v3<4>, product_v3<8>}, b);
}
template <RecurrentKind kind>
EMPLACE_TARGET_V4 void recurrent_v4(const RecurrentBlock& b) {
  recurrent_body<kind>({product_v4<1>, product_v4<2>, product_v4<3>, product_v4<4>, product_v4<8>}, b);
}
template <RecurrentKind kind>
RecurrentCode code_of() {
  return for_isa<RecurrentCode>(recurrent_base<kind>, recurrent_v3<kind>, recurrent_v4<kind>);
}

}  // namespace

RecurrentWeights RecurrentWeights::as_they_lie(RecurrentKind kind, int64_t hidden, const float* r) {
  RecurrentWeights w;
  int64_t first = 0;
  for (int part = 0; part < 2; ++part) {
    w.parts_[part] = {r + first, gates_of(kind) * hidden, panel_width()};
    first += part_columns(kind, hidden, part);
  }
  return w;
}

RecurrentWeights RecurrentWeights::of_panels(RecurrentKind kind, int64_t hidden, const float* packed) {
  RecurrentWeights w;
  const int64_t width = panel_width();
  for (int part = 0; part < 2; ++part) {
    w.parts_[part] = {packed, width, width * hidden};
    packed += (part_columns(kind, hidden, part) + width - 1) / width * width * hidden;
  }
  return w;
}

int64_t RecurrentWeights::packed_size(RecurrentKind kind, int64_t hidden) {
  int64_t columns = 0;
  for (int part = 0; part < 2; ++part)
    columns += (part_columns(kind, hidden, part) + kWidestPanel - 1) / kWidestPanel * kWidestPanel;
  return columns * hidden;
}

void RecurrentWeights::pack(RecurrentKind kind, int64_t hidden, const float* r, float* packed) {
  const int64_t width = panel_width(), pitch = gates_of(kind) * hidden;
  for (int part = 0; part < 2; ++part) {
    const int64_t columns = part_columns(kind, hidden, part);
    for (int64_t first = 0; first < columns; first += width) {
      const auto bytes = static_cast<size_t>(std::min(width, columns - first)) * sizeof(float);
      for (int64_t k = 0; k < hidden; ++k, packed += width) std::memcpy(packed, r + k * pitch + first, bytes);
    }
    r += columns;
  }
}

RecurrentCode recurrent_code(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::kRnnTanh:
      return code_of<RecurrentKind::kRnnTanh>();
    case RecurrentKind::kRnnRelu:
      return code_of<RecurrentKind::kRnnRelu>();
    case RecurrentKind::kGru:
      return code_of<RecurrentKind::kGru>();
    case RecurrentKind::kGruLinear:
      return code_of<RecurrentKind::kGruLinear>();
    default:
      return code_of<RecurrentKind::kLstm>();
  }
}

}  // namespace emplace
