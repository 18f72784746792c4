#include "core/ops/recurrent/recurrent_backward.h"

#include <algorithm>
#include <cstring>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/vector_math.h"

namespace emplace {
namespace {

/// sums[j] += h r[:, j] for columns [from, to).
EMPLACE_INLINE void add_product(const float* h, const float* r, int64_t depth, int64_t pitch, int64_t from, int64_t to,
                                float* sums) {
  for (int64_t k = 0; k < depth; ++k) {
    const float by = h[k], *row = r + k * pitch;
#pragma GCC ivdep
    for (int64_t j = from; j < to; ++j) sums[j] += by * row[j];
  }
}

/// Sums of products stay in 8 lanes, so that a vector holds them.
EMPLACE_INLINE float dot(const float* a, const float* b, int64_t n) {
  float lanes[8] = {};
  int64_t j = 0;
  for (; j + 8 <= n; j += 8) {
    for (int q = 0; q < 8; ++q) lanes[q] += a[j + q] * b[j + q];
  }
  float sum = 0;
  for (; j < n; ++j) sum += a[j] * b[j];
  for (float lane : lanes) sum += lane;
  return sum;
}

/// Where the values of one step of one row lie.
struct StepPlace {
  int64_t at;           // of [steps * batch]
  const float* before;  // the state that it begins with
};

EMPLACE_INLINE StepPlace place_of(const RecurrentBackward& b, int64_t row, int64_t s) {
  const int64_t length = b.length(row);
  const auto at = [&](int64_t step) { return (b.reverse ? length - 1 - step : step) * b.batch + row; };
  return {at(s), s == 0 ? b.h + row * b.hidden : b.y + at(s - 1) * b.hidden};
}

/// in, out, forget, fresh and the cell.
EMPLACE_INLINE void lstm_forward(float* gates, const float* c, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t gate = 0; gate < 3; ++gate) gates[gate * n + i] = sigmoid_of(gates[gate * n + i]);
    gates[3 * n + i] = tanh_of(gates[3 * n + i]);
    gates[4 * n + i] = gates[2 * n + i] * c[i] + gates[i] * gates[3 * n + i];
  }
}

EMPLACE_INLINE void lstm_backward(const float* gates, const float* c, const float* dh, float* dc, float* dx,
                                  int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const float in = gates[i], out = gates[n + i], forget = gates[2 * n + i], fresh = gates[3 * n + i];
    const float shown = tanh_of(gates[4 * n + i]);
    const float of_cell = dc[i] + dh[i] * out * (1.0f - shown * shown);
    dx[i] = of_cell * fresh * in * (1.0f - in);
    dx[n + i] = dh[i] * shown * out * (1.0f - out);
    dx[2 * n + i] = of_cell * c[i] * forget * (1.0f - forget);
    dx[3 * n + i] = of_cell * in * (1.0f - fresh * fresh);
    dc[i] = of_cell * forget;
  }
}

/// update, reset, fresh, and the product that the reset gate scales.
template <bool linear>
EMPLACE_INLINE void gru_forward(const RecurrentBackward& b, const float* x, const float* h, float* gates,
                                float* inner) {
  const int64_t n = b.hidden;
  float *reset = gates + n, *fresh = gates + 2 * n, *product = gates + 3 * n;
  std::memcpy(gates, x, static_cast<size_t>(2 * n) * sizeof(float));
  add_product(h, b.r, n, 3 * n, 0, 2 * n, gates);
  for (int64_t i = 0; i < 2 * n; ++i) gates[i] = sigmoid_of(gates[i]);
  for (int64_t i = 0; i < n; ++i) product[i] = linear ? b.bias[i] : 0.0f;
  for (int64_t i = 0; !linear && i < n; ++i) inner[i] = reset[i] * h[i];
  add_product(linear ? h : inner, b.r + 2 * n, n, 3 * n, 0, n, product);
  for (int64_t i = 0; i < n; ++i) fresh[i] = tanh_of(x[2 * n + i] + (linear ? reset[i] : 1.0f) * product[i]);
}

/// dh: of what the step gave; then of what it began with, but for what update and reset give to it.
template <bool linear>
EMPLACE_INLINE void gru_backward(const RecurrentBackward& b, const float* h, const float* gates, float* dh, float* dx,
                                 float* inner) {
  const int64_t n = b.hidden;
  const float *update = gates, *reset = gates + n, *fresh = gates + 2 * n, *product = gates + 3 * n;
  for (int64_t i = 0; i < n; ++i) {
    dx[i] = dh[i] * (h[i] - fresh[i]) * update[i] * (1.0f - update[i]);
    dx[2 * n + i] = dh[i] * (1.0f - update[i]) * (1.0f - fresh[i] * fresh[i]);
    if (linear) inner[i] = dx[2 * n + i] * reset[i];
    dh[i] *= update[i];
  }
  for (int64_t i = 0; i < n; ++i) {
    const float back = dot(b.r + (i * 3 + 2) * n, linear ? inner : dx + 2 * n, n);
    const float of_reset = linear ? dx[2 * n + i] * product[i] : back * h[i];
    dx[n + i] = of_reset * reset[i] * (1.0f - reset[i]);
    dh[i] += linear ? back : back * reset[i];
  }
}

template <RecurrentKind kind>
EMPLACE_INLINE void forward_step(const RecurrentBackward& b, int64_t row, int64_t s, float* gates) {
  const int64_t n = b.hidden, width = gates_of(kind) * n;
  const StepPlace place = place_of(b, row, s);
  const float *x = b.x + place.at * width, *h = place.before;
  std::memcpy(b.before + place.at * n, h, static_cast<size_t>(n) * sizeof(float));
  if constexpr (kind == RecurrentKind::kLstm) {
    std::memcpy(gates, x, static_cast<size_t>(width) * sizeof(float));
    add_product(h, b.r, n, width, 0, width, gates);
    lstm_forward(gates, s == 0 ? b.c + row * n : gates - n, n);
  } else if constexpr (gates_of(kind) == 3) {
    gru_forward<kind == RecurrentKind::kGruLinear>(b, x, h, gates, b.inner + place.at * n);
  }
}

template <RecurrentKind kind>
EMPLACE_INLINE void backward_step(const RecurrentBackward& b, int64_t row, int64_t s, const float* gates, float* dh,
                                  float* dc) {
  constexpr int kGates = gates_of(kind);
  const int64_t n = b.hidden, width = kGates * n;
  const StepPlace place = place_of(b, row, s);
  const float *y = b.y + place.at * n, *dy = b.dy + place.at * n;
  float* dx = b.dx + place.at * width;
  for (int64_t i = 0; i < n; ++i) dh[i] += dy[i];
  if constexpr (kind == RecurrentKind::kLstm) {
    lstm_backward(gates, s == 0 ? b.c + row * n : gates - n, dh, dc, dx, n);
  } else if constexpr (kGates == 3) {
    gru_backward<kind == RecurrentKind::kGruLinear>(b, place.before, gates, dh, dx, b.inner + place.at * n);
    for (int64_t k = 0; k < n; ++k) dh[k] += dot(b.r + k * width, dx, 2 * n);
    return;
  } else {
    for (int64_t i = 0; i < n; ++i)
      dx[i] = kind == RecurrentKind::kRnnTanh ? dh[i] * (1.0f - y[i] * y[i]) : y[i] > 0 ? dh[i] : 0.0f;
  }
  for (int64_t k = 0; k < n; ++k) dh[k] = dot(b.r + k * width, dx, width);
}

template <RecurrentKind kind>
EMPLACE_INLINE void backward_row(const RecurrentBackward& b, int64_t row) {
  const int64_t n = b.hidden, width = gates_of(kind) * n, length = b.length(row);
  const int64_t room = recurrent_backward_room(kind, b.steps, n);
  const int64_t kept = b.steps == 0 ? 0 : (room - 2 * n) / b.steps;
  float *dh = b.room + row * room, *dc = dh + n, *gates = dc + n;
  for (int64_t s = length; s < b.steps; ++s) {
    std::fill_n(b.dx + (s * b.batch + row) * width, width, 0.0f);
    std::fill_n(b.before + (s * b.batch + row) * n, n, 0.0f);
    if (gates_of(kind) == 3) std::fill_n(b.inner + (s * b.batch + row) * n, n, 0.0f);
  }
  std::copy_n(b.dh_last + row * n, n, dh);
  if (kind == RecurrentKind::kLstm) std::copy_n(b.dc_last + row * n, n, dc);
  for (int64_t s = 0; s < length; ++s) forward_step<kind>(b, row, s, gates + s * kept);
  for (int64_t s = length; s-- > 0;) backward_step<kind>(b, row, s, gates + s * kept, dh, dc);
  std::copy_n(dh, n, b.dh + row * n);
  if (kind == RecurrentKind::kLstm) std::copy_n(dc, n, b.dc + row * n);
}

/// What a gate gets of the states is a product: its weights' gradient is the sum of factor times gradient.
template <RecurrentKind kind>
EMPLACE_INLINE void backward_weights(const RecurrentBackward& b, int64_t from, int64_t to) {
  constexpr bool kGru = gates_of(kind) == 3, kLinear = kind == RecurrentKind::kGruLinear;
  const int64_t n = b.hidden, width = gates_of(kind) * n, plain = kGru ? 2 * n : width;
  std::fill(b.dr + from * width, b.dr + to * width, 0.0f);
  for (int64_t at = 0; at < b.steps * b.batch; ++at) {
    const float *dx = b.dx + at * width, *h = b.before + at * n, *inner = b.inner + (kGru ? at * n : 0);
    for (int64_t k = from; k < to; ++k) {
      float* out = b.dr + k * width;
#pragma GCC ivdep
      for (int64_t j = 0; j < plain; ++j) out[j] += h[k] * dx[j];
      if (!kGru) continue;
      const float by = kLinear ? h[k] : inner[k], *of_fresh = kLinear ? inner : dx + 2 * n;
#pragma GCC ivdep
      for (int64_t j = 0; j < n; ++j) out[2 * n + j] += by * of_fresh[j];
    }
  }
}

template <RecurrentKind kind>
void row_base(const RecurrentBackward& b, int64_t row) {
  backward_row<kind>(b, row);
}
template <RecurrentKind kind>
EMPLACE_TARGET_V3 void row_v3(const RecurrentBackward& b, int64_t row) {
  backward_row<kind>(b, row);
}
template <RecurrentKind kind>
EMPLACE_TARGET_V4 void row_v4(const RecurrentBackward& b, int64_t row) {
  backward_row<kind>(b, row);
}
template <RecurrentKind kind>
void weights_base(const RecurrentBackward& b, int64_t from, int64_t to) {
  backward_weights<kind>(b, from, to);
}
template <RecurrentKind kind>
EMPLACE_TARGET_V3 void weights_v3(const RecurrentBackward& b, int64_t from, int64_t to) {
  backward_weights<kind>(b, from, to);
}
template <RecurrentKind kind>
EMPLACE_TARGET_V4 void weights_v4(const RecurrentBackward& b, int64_t from, int64_t to) {
  backward_weights<kind>(b, from, to);
}
template <RecurrentKind kind>
RecurrentBackwardCode backward_code_of() {
  return {for_isa(row_base<kind>, row_v3<kind>, row_v4<kind>),
          for_isa(weights_base<kind>, weights_v3<kind>, weights_v4<kind>)};
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
