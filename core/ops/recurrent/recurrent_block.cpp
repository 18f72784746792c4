#include "core/ops/recurrent/recurrent_block.h"

#include <algorithm>
#include <cstring>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/vector_math.h"

namespace emplace {
namespace {

/// Columns [j, j + N * W) of M rows: y = start + h r. They stay in registers, as vectors of W elements: of arrays of
/// numbers the compiler makes memory.
template <int M, int N, int W>
EMPLACE_INLINE void product_tile(const float* const* start, const float* h, const float* r, int64_t depth,
                                 int64_t pitch, int64_t j, float* y) {
  typedef float Vector __attribute__((vector_size(W * sizeof(float))));
  Vector sum[M][N], in;
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int q = 0; q < N; ++q) std::memcpy(&sum[m][q], start[m] + j + q * W, sizeof in);
  }
  for (int64_t k = 0; k < depth; ++k) {
    const float* row = r + k * pitch + j;
#pragma GCC unroll 8
    for (int q = 0; q < N; ++q) {
      std::memcpy(&in, row + q * W, sizeof in);
#pragma GCC unroll 8
      for (int m = 0; m < M; ++m) sum[m][q] += h[m * depth + k] * in;
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < M; ++m) {
#pragma GCC unroll 8
    for (int q = 0; q < N; ++q) std::memcpy(y + m * pitch + j + q * W, &sum[m][q], sizeof in);
  }
}

template <int M>
EMPLACE_INLINE void product_column(const float* const* start, const float* h, const float* r, int64_t depth,
                                   int64_t pitch, int64_t j, float* y) {
  float sum[M];
  for (int m = 0; m < M; ++m) sum[m] = start[m][j];
  for (int64_t k = 0; k < depth; ++k) {
    const float in = r[k * pitch + j];
    for (int m = 0; m < M; ++m) sum[m] += h[m * depth + k] * in;
  }
  for (int m = 0; m < M; ++m) y[m * pitch + j] = sum[m];
}

/// Columns [from, to) of y [M, pitch]: start (by column) + h [M, depth] times r [depth, pitch].
template <int M, int W>
EMPLACE_INLINE void products_body(const float* const* start, const float* h, const float* r, int64_t depth,
                                  int64_t pitch, int64_t from, int64_t to, float* y) {
  constexpr int kVectors = 8 / M;  // eight sums are at work at a time
  int64_t j = from;
  for (; j + kVectors * W <= to; j += kVectors * W) product_tile<M, kVectors, W>(start, h, r, depth, pitch, j, y);
  for (; j + W <= to; j += W) product_tile<M, 1, W>(start, h, r, depth, pitch, j, y);
  if constexpr (W > 8) {
    for (; j + 8 <= to; j += 8) product_tile<M, 1, 8>(start, h, r, depth, pitch, j, y);
  }
  for (; j < to; ++j) product_column<M>(start, h, r, depth, pitch, j, y);
}

// Called, not inlined: most of a step's time is in the loop, and every kind of cell would have several copies of it.
using ProductCode = void(const float* const* start, const float* h, const float* r, int64_t depth, int64_t pitch,
                         int64_t from, int64_t to, float* y);
template <int M>
void products_base(const float* const* start, const float* h, const float* r, int64_t depth, int64_t pitch,
                   int64_t from, int64_t to, float* y) {
  products_body<M, 4>(start, h, r, depth, pitch, from, to, y);
}
template <int M>
EMPLACE_TARGET_V3 void products_v3(const float* const* start, const float* h, const float* r, int64_t depth,
                                   int64_t pitch, int64_t from, int64_t to, float* y) {
  products_body<M, 8>(start, h, r, depth, pitch, from, to, y);
}
template <int M>
EMPLACE_TARGET_V4 void products_v4(const float* const* start, const float* h, const float* r, int64_t depth,
                                   int64_t pitch, int64_t from, int64_t to, float* y) {
  products_body<M, 16>(start, h, r, depth, pitch, from, to, y);
}

/// Of one row, and of as many as a block has at most.
struct Products {
  ProductCode *one, *full;
  template <int M>
  EMPLACE_INLINE ProductCode* of() const {
    return M == 1 ? one : full;
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

template <RecurrentKind kind, int M>
EMPLACE_INLINE void recurrent_step(const Products& code, const RecurrentBlock& b, const RecurrentRoom& room,
                                   const float* const* x) {
  constexpr int kGates = gates_of(kind);
  ProductCode* const products = code.of<M>();
  const int64_t n = b.hidden, pitch = kGates * n;
  if constexpr (kind == RecurrentKind::kLstm) {
    products(x, room.h, b.r, n, pitch, 0, pitch, room.gates);
    for (int m = 0; m < M; ++m) lstm_cells(room.gates + m * pitch, room.h + m * n, room.c + m * n, n);
  } else if constexpr (kGates == 3) {
    constexpr bool kLinear = kind == RecurrentKind::kGruLinear;
    const float* biases[M];
    for (int m = 0; m < M; ++m) biases[m] = b.bias - 2 * n;
    products(x, room.h, b.r, n, pitch, 0, 2 * n, room.gates);
    if (kLinear) products(biases, room.h, b.r, n, pitch, 2 * n, pitch, room.gates);
    for (int m = 0; m < M; ++m) {
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
    if (!kLinear) products(x, room.other, b.r, n, pitch, 2 * n, pitch, room.gates);
    for (int m = 0; m < M; ++m) {
      gru_states(room.gates + m * pitch, room.gates + m * pitch + 2 * n, room.h + m * n, n);
    }
  } else {
    products(x, room.h, b.r, n, pitch, 0, pitch, room.gates);
#pragma GCC ivdep
    for (int64_t i = 0; i < M * n; ++i)
      room.h[i] = kind == RecurrentKind::kRnnTanh ? tanh_of(room.gates[i]) : std::max(room.gates[i], 0.0f);
  }
}

/// Rows whose sequence has ended keep their state, and put out zeros.
template <RecurrentKind kind, int M>
EMPLACE_INLINE void recurrent_rows(const Products& code, const RecurrentBlock& b) {
  const int64_t n = b.hidden, row = gates_of(kind) * n;
  const auto bytes = static_cast<size_t>(n) * sizeof(float);
  const RecurrentRoom room{b.room, b.room + M * n, b.room + 2 * M * n, b.room + 3 * M * n};
  std::memcpy(room.h, b.h + b.first * n, static_cast<size_t>(M) * bytes);
  if (kind == RecurrentKind::kLstm) std::memcpy(room.c, b.c + b.first * n, static_cast<size_t>(M) * bytes);
  for (int64_t s = 0; s < b.steps; ++s) {
    const float* x[M];
    bool all = true;
    for (int m = 0; m < M; ++m) {
      const int64_t t = b.reverse && s < b.lengths[m] ? b.lengths[m] - 1 - s : s;
      x[m] = b.x + (t * b.batch + b.first + m) * row;
      all = all && s < b.lengths[m];
    }
    if (all) recurrent_step<kind, M>(code, b, room, x);
    for (int m = 0; m < M; ++m) {
      const bool lives = s < b.lengths[m];
      if (lives && !all) {
        const RecurrentRoom own{room.h + m * n, room.c + m * n, room.other + m * n, room.gates + m * row};
        recurrent_step<kind, 1>(code, b, own, x + m);
      }
      float* y = b.y + ((lives && b.reverse ? b.lengths[m] - 1 - s : s) * b.batch + b.first + m) * n;
      lives ? std::memcpy(y, room.h + m * n, bytes) : std::memset(y, 0, bytes);
    }
  }
  std::memcpy(b.h_last + b.first * n, room.h, static_cast<size_t>(M) * bytes);
  if (kind == RecurrentKind::kLstm) std::memcpy(b.c_last + b.first * n, room.c, static_cast<size_t>(M) * bytes);
}

template <RecurrentKind kind>
EMPLACE_INLINE void recurrent_body(const Products& code, const RecurrentBlock& b) {
  if (b.rows == kRecurrentRows) return recurrent_rows<kind, kRecurrentRows>(code, b);
  RecurrentBlock one = b;
  one.rows = 1;
  for (int64_t m = 0; m < b.rows; ++m) {
    one.first = b.first + m, one.lengths[0] = b.lengths[m];
    recurrent_rows<kind, 1>(code, one);
  }
}
template <RecurrentKind kind>
void recurrent_base(const RecurrentBlock& b) {
  recurrent_body<kind>({products_base<1>, products_base<kRecurrentRows>}, b);
}
template <RecurrentKind kind>
EMPLACE_TARGET_V3 void recurrent_v3(const RecurrentBlock& b) {
  recurrent_body<kind>({products_v3<1>, products_v3<kRecurrentRows>}, b);
}
template <RecurrentKind kind>
EMPLACE_TARGET_V4 void recurrent_v4(const RecurrentBlock& b) {
  recurrent_body<kind>({products_v4<1>, products_v4<kRecurrentRows>}, b);
}
template <RecurrentKind kind>
RecurrentCode code_of() {
  return for_isa<RecurrentCode>(recurrent_base<kind>, recurrent_v3<kind>, recurrent_v4<kind>);
}

}  // namespace

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
