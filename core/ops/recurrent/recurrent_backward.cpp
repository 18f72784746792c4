#include "core/ops/recurrent/recurrent_backward.h"

#include <algorithm>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/vector_math.h"

namespace emplace {
namespace {

/// In, out, forget, fresh and the cell.
EMPLACE_INLINE void lstm_gates(const RecurrentBackward& b, int64_t row) {
  const int64_t n = b.hidden;
  const float* c = b.c + row * n;
  for (int64_t s = 0; s < b.length(row); ++s) {
    const int64_t at = b.at(row, s);
    const float* x = b.x + at * 4 * n;
    float *gates = b.gates + at * 4 * n, *cell = b.cells + at * n;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const float in = sigmoid_of(x[i] + gates[i]), forget = sigmoid_of(x[2 * n + i] + gates[2 * n + i]);
      const float fresh = tanh_of(x[3 * n + i] + gates[3 * n + i]);
      gates[i] = in, gates[2 * n + i] = forget, gates[3 * n + i] = fresh;
      gates[n + i] = sigmoid_of(x[n + i] + gates[n + i]);
      cell[i] = forget * c[i] + in * fresh;
    }
    c = cell;
  }
}

EMPLACE_INLINE void lstm_step(const RecurrentBackward& b, int64_t row, int64_t s, const float* dh, float* dc) {
  const int64_t n = b.hidden, at = b.at(row, s);
  const float *gates = b.gates + at * 4 * n, *cell = b.cells + at * n;
  const float* c = s == 0 ? b.c + row * n : b.cells + b.at(row, s - 1) * n;
  float* dx = b.dx + at * 4 * n;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float in = gates[i], out = gates[n + i], forget = gates[2 * n + i], fresh = gates[3 * n + i];
    const float shown = tanh_of(cell[i]);
    const float of_cell = dc[i] + dh[i] * out * (1.0f - shown * shown);
    dx[i] = of_cell * fresh * in * (1.0f - in);
    dx[n + i] = dh[i] * shown * out * (1.0f - out);
    dx[2 * n + i] = of_cell * c[i] * forget * (1.0f - forget);
    dx[3 * n + i] = of_cell * in * (1.0f - fresh * fresh);
    dc[i] = of_cell * forget;
  }
}

/// Update, reset, and what is multiplied for the fresh state where reset comes first.
template <bool linear>
EMPLACE_INLINE void gru_gates(const RecurrentBackward& b, int64_t row) {
  const int64_t n = b.hidden;
  for (int64_t s = 0; s < b.length(row); ++s) {
    const int64_t at = b.at(row, s);
    const float *x = b.x + at * 3 * n, *h = b.before + at * n;
    float *gates = b.gates + at * 3 * n, *inner = b.inner + at * n;
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; ++i) gates[i] = sigmoid_of(x[i] + gates[i]);
#pragma GCC ivdep
    for (int64_t i = 0; !linear && i < n; ++i) inner[i] = gates[n + i] * h[i];
  }
}

template <bool linear>
EMPLACE_INLINE void gru_fresh(const RecurrentBackward& b, int64_t row) {
  const int64_t n = b.hidden;
  for (int64_t s = 0; s < b.length(row); ++s) {
    const int64_t at = b.at(row, s);
    const float* x = b.x + at * 3 * n + 2 * n;
    float *product = b.product + at * n, *reset = b.gates + at * 3 * n + n, *fresh = reset + n;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      if (linear) product[i] += b.bias[i];
      fresh[i] = tanh_of(x[i] + (linear ? reset[i] : 1.0f) * product[i]);
    }
  }
}

template <bool linear>
EMPLACE_INLINE void gru_step(const RecurrentBackward& b, int64_t row, int64_t s, float* dh) {
  const int64_t n = b.hidden, at = b.at(row, s);
  const float *h = b.before + at * n, *update = b.gates + at * 3 * n, *reset = update + n, *fresh = reset + n;
  float *dx = b.dx + at * 3 * n, *inner = b.inner + at * n;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    dx[i] = dh[i] * (h[i] - fresh[i]) * update[i] * (1.0f - update[i]);
    dx[2 * n + i] = dh[i] * (1.0f - update[i]) * (1.0f - fresh[i] * fresh[i]);
    if (linear) inner[i] = dx[2 * n + i] * reset[i];
    dh[i] *= update[i];
  }
}

template <bool linear>
EMPLACE_INLINE void gru_reset(const RecurrentBackward& b, int64_t row, int64_t s, const float* back, float* dh) {
  const int64_t n = b.hidden, at = b.at(row, s);
  const float *h = b.before + at * n, *reset = b.gates + at * 3 * n + n, *product = b.product + at * n;
  float* dx = b.dx + at * 3 * n;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float of_reset = linear ? dx[2 * n + i] * product[i] : back[i] * h[i];
    dx[n + i] = of_reset * reset[i] * (1.0f - reset[i]);
    dh[i] += linear ? back[i] : back[i] * reset[i];
  }
}

template <bool relu>
EMPLACE_INLINE void rnn_step(const RecurrentBackward& b, int64_t row, int64_t s, const float* dh) {
  const int64_t n = b.hidden, at = b.at(row, s);
  const float* y = b.y + at * n;
  float* dx = b.dx + at * n;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dx[i] = relu ? (y[i] > 0 ? dh[i] : 0.0f) : dh[i] * (1.0f - y[i] * y[i]);
}

template <RecurrentKind kind>
struct Cells {
  static constexpr bool kLinear = kind == RecurrentKind::kGruLinear;
  EMPLACE_INLINE static void gates(const RecurrentBackward& b, int64_t row) {
    if constexpr (kind == RecurrentKind::kLstm) lstm_gates(b, row);
    if constexpr (gates_of(kind) == 3) gru_gates<kLinear>(b, row);
  }
  EMPLACE_INLINE static void fresh(const RecurrentBackward& b, int64_t row) {
    if constexpr (gates_of(kind) == 3) gru_fresh<kLinear>(b, row);
  }
  EMPLACE_INLINE static void step(const RecurrentBackward& b, int64_t row, int64_t s, float* dh, float* dc) {
    if constexpr (kind == RecurrentKind::kLstm)
      lstm_step(b, row, s, dh, dc);
    else if constexpr (gates_of(kind) == 3)
      gru_step<kLinear>(b, row, s, dh);
    else
      rnn_step<kind == RecurrentKind::kRnnRelu>(b, row, s, dh);
  }
  EMPLACE_INLINE static void reset(const RecurrentBackward& b, int64_t row, int64_t s, const float* back, float* dh) {
    if constexpr (gates_of(kind) == 3) gru_reset<kLinear>(b, row, s, back, dh);
  }
};

#define EMPLACE_CELL_CLONES(target, suffix)                                                                      \
  template <RecurrentKind kind>                                                                                  \
  target void gates_##suffix(const RecurrentBackward& b, int64_t row) {                                          \
    Cells<kind>::gates(b, row);                                                                                  \
  }                                                                                                              \
  template <RecurrentKind kind>                                                                                  \
  target void fresh_##suffix(const RecurrentBackward& b, int64_t row) {                                          \
    Cells<kind>::fresh(b, row);                                                                                  \
  }                                                                                                              \
  template <RecurrentKind kind>                                                                                  \
  target void step_##suffix(const RecurrentBackward& b, int64_t row, int64_t s, float* dh, float* dc) {          \
    Cells<kind>::step(b, row, s, dh, dc);                                                                        \
  }                                                                                                              \
  template <RecurrentKind kind>                                                                                  \
  target void reset_##suffix(const RecurrentBackward& b, int64_t row, int64_t s, const float* back, float* dh) { \
    Cells<kind>::reset(b, row, s, back, dh);                                                                     \
  }

EMPLACE_CELL_CLONES(, base)
EMPLACE_CELL_CLONES(EMPLACE_TARGET_V3, v3)
EMPLACE_CELL_CLONES(EMPLACE_TARGET_V4, v4)
#undef EMPLACE_CELL_CLONES

template <RecurrentKind kind>
RecurrentBackwardCode backward_code_of() {
  return {for_isa(gates_base<kind>, gates_v3<kind>, gates_v4<kind>),
          for_isa(fresh_base<kind>, fresh_v3<kind>, fresh_v4<kind>),
          for_isa(step_base<kind>, step_v3<kind>, step_v4<kind>),
          for_isa(reset_base<kind>, reset_v3<kind>, reset_v4<kind>)};
}

}  // namespace

RecurrentBackwardCode recurrent_backward_code(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::kRnnTanh:
      return backward_code_of<RecurrentKind::kRnnTanh>();
    case RecurrentKind::kRnnRelu:
      return backward_code_of<RecurrentKind::kRnnRelu>();
    case RecurrentKind::kGru:
      return backward_code_of<RecurrentKind::kGru>();
    case RecurrentKind::kGruLinear:
      return backward_code_of<RecurrentKind::kGruLinear>();
    default:
      return backward_code_of<RecurrentKind::kLstm>();
  }
}

}  // namespace emplace
