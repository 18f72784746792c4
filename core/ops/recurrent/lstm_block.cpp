#include "core/ops/recurrent/lstm_block.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/ops/kit/convert.h"
#include "core/ops/kit/isa.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/vector_math.h"

namespace emplace {
namespace {

// Halves are rounded after each operation, as TensorFlow computes in them.
template <class T>
EMPLACE_INLINE T sigmoid_in(T x) {
  return T(sigmoid_of(static_cast<float>(x)));
}
template <class T>
EMPLACE_INLINE T tanh_in(T x) {
  return T(tanh_of(static_cast<float>(x)));
}

template <class T, bool peeps, bool clips>
EMPLACE_INLINE void forward_row(const LstmForward& f, const Peepholes<T>& peep, const float* of_input,
                                const float* of_state, const T* cell_before, const LstmRow<T>& row) {
  const int64_t n = f.units;
  const T* bias = static_cast<const T*>(f.bias);
  const T forget_bias(f.forget_bias), most(f.clip), least(-f.clip);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const auto gate = [&](int64_t at) { return T(of_input[at + i] + of_state[at + i]) + bias[at + i]; };
    T in = gate(0), forget = gate(f.order.forget * n) + forget_bias, out = gate(3 * n);
    if (peeps) in = in + cell_before[i] * peep.in[i];
    if (peeps) forget = forget + cell_before[i] * peep.forget[i];
    in = sigmoid_in(in);
    forget = sigmoid_in(forget);
    const T fresh = tanh_in(gate(f.order.fresh * n));
    T cell = in * fresh + forget * cell_before[i];
    if (clips) {
      cell = cell < least ? least : cell;
      cell = most < cell ? most : cell;
    }
    const T shown = tanh_in(cell);
    if (peeps) out = out + cell * peep.out[i];
    out = sigmoid_in(out);
    row.in[i] = in, row.cell[i] = cell, row.forget[i] = forget, row.out[i] = out;
    row.fresh[i] = fresh, row.shown[i] = shown, row.state[i] = out * shown;
  }
}

template <class T>
EMPLACE_INLINE void forward_any(const LstmForward& f, const Peepholes<T>& peep, const float* of_input,
                                const float* of_state, const T* cell_before, const LstmRow<T>& row) {
  if (peep.in && f.clip > 0) return forward_row<T, true, true>(f, peep, of_input, of_state, cell_before, row);
  if (peep.in) return forward_row<T, true, false>(f, peep, of_input, of_state, cell_before, row);
  if (f.clip > 0) return forward_row<T, false, true>(f, peep, of_input, of_state, cell_before, row);
  forward_row<T, false, false>(f, peep, of_input, of_state, cell_before, row);
}

#define EMPLACE_LSTM_CLONE(target, suffix)                                                                        \
  target void lstm_forward_##suffix(const LstmForward& f, const Peepholes<float>& peep, const float* of_input,    \
                                    const float* of_state, const float* cell_before, const LstmRow<float>& row) { \
    forward_any<float>(f, peep, of_input, of_state, cell_before, row);                                            \
  }
EMPLACE_LSTM_CLONE(, base)
EMPLACE_LSTM_CLONE(EMPLACE_TARGET_V3, v3)
EMPLACE_LSTM_CLONE(EMPLACE_TARGET_V4, v4)
#undef EMPLACE_LSTM_CLONE

void lstm_forward_half(const LstmForward& f, const Peepholes<half>& peep, const float* of_input, const float* of_state,
                       const half* cell_before, const LstmRow<half>& row) {
  forward_any<half>(f, peep, of_input, of_state, cell_before, row);
}

template <class T>
void backward_row(int64_t n, const GateOrder& order, const Peepholes<T>& peep, const LstmGiven<T>& g, T* gates,
                  T* cell_before) {
  const T one(1.0f);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T out = g.out[i] * (one - g.out[i]) * g.state_gradient[i] * g.shown[i];
    T cell = (one - g.shown[i] * g.shown[i]) * g.state_gradient[i] * g.out[i] + g.cell_gradient[i];
    if (peep.in) cell = cell + out * peep.out[i];
    const T fresh = (one - g.fresh[i] * g.fresh[i]) * cell * g.in[i];
    const T forget = g.forget[i] * (one - g.forget[i]) * cell * g.cell_before[i];
    const T in = g.in[i] * (one - g.in[i]) * cell * g.fresh[i];
    T before = cell * g.forget[i];
    if (peep.in) before = before + in * peep.in[i] + forget * peep.forget[i];
    gates[i] = in, gates[order.fresh * n + i] = fresh, gates[order.forget * n + i] = forget, gates[3 * n + i] = out;
    cell_before[i] = before;
  }
}

}  // namespace

template <>
LstmForwardCode<float> lstm_forward_code() {
  return for_isa(lstm_forward_base, lstm_forward_v3, lstm_forward_v4);
}
template <>
LstmForwardCode<half> lstm_forward_code() {
  return lstm_forward_half;
}
template <>
LstmBackwardCode<float> lstm_backward_code() {
  return backward_row<float>;
}
template <>
LstmBackwardCode<half> lstm_backward_code() {
  return backward_row<half>;
}

template <class T>
void add_peephole_gradients(int64_t n, const GateOrder& order, const LstmGiven<T>& g, const T* gates, T* in, T* forget,
                            T* out) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    in[i] = in[i] + gates[i] * g.cell_before[i];
    forget[i] = forget[i] + gates[order.forget * n + i] * g.cell_before[i];
    out[i] = out[i] + gates[3 * n + i] * g.cell[i];
  }
}
template void add_peephole_gradients(int64_t, const GateOrder&, const LstmGiven<float>&, const float*, float*, float*,
                                     float*);
template void add_peephole_gradients(int64_t, const GateOrder&, const LstmGiven<half>&, const half*, half*, half*,
                                     half*);

Result<const float*> as_floats(KernelContext& c, DType type, const void* elements, int64_t n, Tensor& own) {
  if (type == DType::kFloat) return static_cast<const float*>(elements);
  ASSIGN_OR_RETURN(own, c.allocate_scratch(DType::kFloat, Shape{n}));
  if (n > 0) widening(type)(elements, own.raw(), n);
  return static_cast<const float*>(own.data<float>());
}

void from_floats(DType type, const float* floats, void* elements, int64_t n) {
  if (n == 0) return;
  if (type == DType::kFloat)
    std::copy_n(floats, n, static_cast<float*>(elements));
  else
    narrowing(type)(floats, elements, n);
}

Status PackedProduct::prepare(KernelContext& c, int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b,
                              const float* b) {
  gemm_ = gemm::Gemm<float>(m, n, k, transpose_a, transpose_b);
  b_ = b;
  if (gemm_.packed_b_size() == 0) return ok_status();
  ASSIGN_OR_RETURN(packed_, c.allocate_scratch(DType::kFloat, Shape{gemm_.packed_b_size()}));
  gemm_.pack_b(*c.parallel_, b, packed_.data<float>());
  return ok_status();
}

Status check_block_shape(std::string_view name, const Shape& given, const Shape& wanted) {
  if (given == wanted) return ok_status();
  if (given.rank() != wanted.rank())
    return invalid_argument(cat(name, " must be rank ", wanted.rank(), " but is rank ", given.rank()));
  return invalid_argument(cat(name, " must have shape ", wanted.to_string(), ", got ", given.to_string()));
}

}  // namespace emplace
