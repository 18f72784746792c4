// GRUBlockCell, GRUBlockCellGrad: a step of GRU cells, and its gradients.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/vector_math.h"
#include "core/ops/recurrent/lstm_block.h"

namespace emplace {
namespace {

Status gru_cell_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape x, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(const Shape state, c.with_rank(1, 2));
  for (int i = 0; i < 4; ++i) c.set_output(i, Shape{x.dim(0), state.dim(1)});
  return ok_status();
}

Status gru_cell_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape x, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(const Shape state, c.with_rank(1, 2));
  ASSIGN_OR_RETURN(const Shape weights, c.with_rank(2, 2));
  c.set_output(0, x);
  for (const int i : {1, 2}) c.set_output(i, Shape{x.dim(0), state.dim(1)});
  c.set_output(3, Shape{x.dim(0), weights.dim(1)});
  return ok_status();
}

struct GruSizes {
  int64_t batch = 0, inputs = 0, units = 0;
  int64_t joined() const { return inputs + units; }  // a row of the input and of the state, side by side

  static Result<GruSizes> of(const KernelContext& c) {
    static constexpr std::string_view kNames[] = {"x", "h_prev"};
    for (const int i : {0, 1}) {
      if (const int rank = c.input(i).shape().rank(); rank != 2)
        return invalid_argument(cat("Rank of ", kNames[i], " must be 2, got ", rank));
    }
    const GruSizes s{c.input(0).shape().dim(0), c.input(0).shape().dim(1), c.input(1).shape().dim(1)};
    RETURN_IF_ERROR(check_block_shape("h_prev", c.input(1).shape(), Shape{s.batch, s.units}));
    RETURN_IF_ERROR(check_block_shape("w_ru", c.input(2).shape(), Shape{s.joined(), 2 * s.units}));
    RETURN_IF_ERROR(check_block_shape("w_c", c.input(3).shape(), Shape{s.joined(), s.units}));
    RETURN_IF_ERROR(check_block_shape("b_ru", c.input(4).shape(), Shape{2 * s.units}));
    RETURN_IF_ERROR(check_block_shape("b_c", c.input(5).shape(), Shape{s.units}));
    return s;
  }
};

EMPLACE_INLINE void gate_row(const float* sums, const float* bias, const float* state, int64_t n, float* reset,
                             float* update, float* kept) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    reset[i] = sigmoid_of(sums[i] + bias[i]);
    update[i] = sigmoid_of(sums[n + i] + bias[n + i]);
    kept[i] = state[i] * reset[i];
  }
}
EMPLACE_INLINE void state_row(const float* bias, const float* state, const float* update, int64_t n, float* fresh,
                              float* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    fresh[i] = tanh_of(fresh[i] + bias[i]);
    out[i] = update[i] * (state[i] - fresh[i]) + fresh[i];
  }
}
#define EMPLACE_GRU_CLONES(target, suffix)                                                                            \
  target void gate_row_##suffix(const float* sums, const float* bias, const float* state, int64_t n, float* reset,    \
                                float* update, float* kept) {                                                         \
    gate_row(sums, bias, state, n, reset, update, kept);                                                              \
  }                                                                                                                   \
  target void state_row_##suffix(const float* bias, const float* state, const float* update, int64_t n, float* fresh, \
                                 float* out) {                                                                        \
    state_row(bias, state, update, n, fresh, out);                                                                    \
  }
EMPLACE_GRU_CLONES(, base)
EMPLACE_GRU_CLONES(EMPLACE_TARGET_V3, v3)
EMPLACE_GRU_CLONES(EMPLACE_TARGET_V4, v4)
#undef EMPLACE_GRU_CLONES

/// Rows of the input and of something of the state's size, side by side.
class JoinedRows {
 public:
  static Result<JoinedRows> of(KernelContext& c, const GruSizes& s) {
    JoinedRows rows;
    ASSIGN_OR_RETURN(rows.rows_, c.allocate_scratch(DType::kFloat, Shape{s.batch, s.joined()}));
    rows.sizes_ = s;
    for (int64_t b = 0; b < s.batch; ++b) {
      std::copy_n(c.in<float>(0) + b * s.inputs, s.inputs, rows.row(b));
      std::copy_n(c.in<float>(1) + b * s.units, s.units, rows.state(b));
    }
    return rows;
  }
  float* data() { return rows_.data<float>(); }
  float* row(int64_t b) { return data() + b * sizes_.joined(); }
  float* state(int64_t b) { return row(b) + sizes_.inputs; }

 private:
  Tensor rows_;
  GruSizes sizes_;
};

/// out [m, n] = a b.
Status multiply_once(KernelContext& c, int64_t m, int64_t n, int64_t k, bool transpose_b, const float* a,
                     const float* b, float* out) {
  PackedProduct product;
  RETURN_IF_ERROR(product.prepare(c, m, n, k, false, transpose_b, b));
  product.run(c, a, out);
  return ok_status();
}

Status gru_cell_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const GruSizes s, GruSizes::of(c));
  for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(ensure_output(c, i, Shape{s.batch, s.units}));
  if (s.batch * s.units == 0) return ok_status();
  ASSIGN_OR_RETURN(JoinedRows joined, JoinedRows::of(c, s));
  ASSIGN_OR_RETURN(Tensor sums, c.allocate_scratch(DType::kFloat, Shape{s.batch, 2 * s.units}));
  RETURN_IF_ERROR(
      multiply_once(c, s.batch, 2 * s.units, s.joined(), false, joined.data(), c.in<float>(2), sums.data<float>()));
  const auto gates = for_isa(gate_row_base, gate_row_v3, gate_row_v4);
  const auto states = for_isa(state_row_base, state_row_v3, state_row_v4);
  const double cost = 6.0 * static_cast<double>(s.units);
  c.parallel_for(s.batch, cost, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = b * s.units;
      gates(sums.data<float>() + 2 * at, c.in<float>(4), c.in<float>(1) + at, s.units, c.out<float>(0) + at,
            c.out<float>(1) + at, joined.state(b));
    }
  });
  RETURN_IF_ERROR(
      multiply_once(c, s.batch, s.units, s.joined(), false, joined.data(), c.in<float>(3), c.out<float>(2)));
  c.parallel_for(s.batch, cost, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = b * s.units;
      states(c.in<float>(5), c.in<float>(1) + at, c.out<float>(1) + at, s.units, c.out<float>(2) + at,
             c.out<float>(3) + at);
    }
  });
  return ok_status();
}

Status gru_cell_gradient_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const GruSizes s, GruSizes::of(c));
  static constexpr std::string_view kNames[] = {"r", "u", "c", "d_h"};
  const Shape state{s.batch, s.units};
  for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(check_block_shape(kNames[i], c.input(6 + i).shape(), state));
  RETURN_IF_ERROR(ensure_output(c, 0, c.input(0).shape()));
  for (const int i : {1, 2}) RETURN_IF_ERROR(ensure_output(c, i, state));
  RETURN_IF_ERROR(ensure_output(c, 3, Shape{s.batch, 2 * s.units}));
  const int64_t n = s.units, all = s.batch * s.units;
  const float *h = c.in<float>(1), *reset = c.in<float>(6), *update = c.in<float>(7), *fresh = c.in<float>(8);
  const float* arrived = c.in<float>(9);
  float *to_fresh = c.out<float>(2), *to_gates = c.out<float>(3);
  for (int64_t i = 0; i < all; ++i) to_fresh[i] = arrived[i] * (1.0f - update[i]) * (1.0f - fresh[i] * fresh[i]);
  // What the new state gives to [x, reset * h], and the gates to [x, h].
  ASSIGN_OR_RETURN(Tensor by_fresh, c.allocate_scratch(DType::kFloat, Shape{s.batch, s.joined()}));
  ASSIGN_OR_RETURN(Tensor by_gates, c.allocate_scratch(DType::kFloat, Shape{s.batch, s.joined()}));
  const float *to_kept = by_fresh.data<float>(), *to_both = by_gates.data<float>();
  RETURN_IF_ERROR(multiply_once(c, s.batch, s.joined(), n, true, to_fresh, c.in<float>(3), by_fresh.data<float>()));
  for (int64_t b = 0; b < s.batch; ++b) {
    const float* kept = to_kept + b * s.joined() + s.inputs;
    float* gates = to_gates + b * 2 * n;
    for (int64_t i = 0, at = b * n; i < n; ++i, ++at) {
      gates[i] = kept[i] * h[at] * reset[at] * (1.0f - reset[at]);
      gates[n + i] = arrived[at] * (h[at] - fresh[at]) * update[at] * (1.0f - update[at]);
    }
  }
  RETURN_IF_ERROR(multiply_once(c, s.batch, s.joined(), 2 * n, true, to_gates, c.in<float>(2), by_gates.data<float>()));
  for (int64_t b = 0; b < s.batch; ++b) {
    const float *kept = to_kept + b * s.joined(), *both = to_both + b * s.joined();
    float *dx = c.out<float>(0) + b * s.inputs, *dh = c.out<float>(1) + b * n;
    for (int64_t i = 0; i < s.inputs; ++i) dx[i] = both[i] + kept[i];
    for (int64_t i = 0, at = b * n; i < n; ++i, ++at)
      dh[i] = both[s.inputs + i] + kept[s.inputs + i] * reset[at] + arrived[at] * update[at];
  }
  return ok_status();
}

}  // namespace

OpDef gru_block_cell_op() {
  return OpDef("GRUBlockCell")
      .doc("A step of GRU cells: gates, the new cell and the state.")
      .shape(gru_cell_shape)
      .cpu<float>(stateless<gru_cell_cpu>);
}
OpDef gru_block_cell_grad_op() {
  return OpDef("GRUBlockCellGrad")
      .doc("Gradients of a step of GRU cells: of input and state, of the new cell and of the gates.")
      .shape(gru_cell_gradient_shape)
      .cpu<float>(stateless<gru_cell_gradient_cpu>);
}

}  // namespace emplace
