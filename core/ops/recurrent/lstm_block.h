/// LSTM cells as TensorFlow's fused ops have them (BlockLSTM, LSTMBlockCell and their kin): sizes, and the loops over
/// the units of a row.
#pragma once

#include "core/op/kernel.h"
#include "core/ops/gemm/gemm.h"

namespace emplace {

struct LstmBlockSizes {
  int64_t steps, batch, inputs, units;
  int64_t cells() const { return batch * units; }
};

/// Where the gates of a row are: in, new cell, forget, out; in the second version new cell and forget change places.
struct GateOrder {
  int64_t fresh = 1, forget = 2;
};

/// Peepholes: what gates see of the cell, by unit; null: nothing.
template <class T>
struct Peepholes {
  const T *in = nullptr, *forget = nullptr, *out = nullptr;
};

/// One row forwards: what it gives, [units] each.
template <class T>
struct LstmRow {
  T *in, *cell, *forget, *out, *fresh, *shown, *state;
};
struct LstmForward {
  int64_t units;
  GateOrder order;
  float forget_bias, clip;  // clip: none if not more than 0
  const void* bias;         // [4 units]
};
/// `of_input` and `of_state`: parts of the gates, [4 units] each.
template <class T>
using LstmForwardCode = void (*)(const LstmForward& f, const Peepholes<T>& peep, const float* of_input,
                                 const float* of_state, const T* cell_before, const LstmRow<T>& row);
template <class T>
LstmForwardCode<T> lstm_forward_code();

/// One row backwards: what the forward pass gave, and what arrives.
template <class T>
struct LstmGiven {
  const T *in, *cell, *forget, *out, *fresh, *shown, *cell_before;
  const T *cell_gradient, *state_gradient;
};
/// To the gates, [4 units], and to the cell before.
template <class T>
using LstmBackwardCode = void (*)(int64_t units, const GateOrder& order, const Peepholes<T>& peep,
                                  const LstmGiven<T>& given, T* gates, T* cell_before);
template <class T>
LstmBackwardCode<T> lstm_backward_code();

/// Adds what a row gives to the gradients of the peepholes, [units] each.
template <class T>
void add_peephole_gradients(int64_t units, const GateOrder& order, const LstmGiven<T>& given, const T* gates, T* in,
                            T* forget, T* out);

/// Elements as float: themselves, or copies in scratch memory that `own` holds.
Result<const float*> as_floats(KernelContext& c, DType type, const void* elements, int64_t n, Tensor& own);
/// Of an element type T, from its floats.
void from_floats(DType type, const float* floats, void* elements, int64_t n);

/// A product whose right matrix is packed once. out [m, n] = a b.
class PackedProduct {
 public:
  Status prepare(KernelContext& c, int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, const float* b);
  void run(KernelContext& c, const float* a, float* out) const {
    gemm_.run(*c.parallel_, a, b_, packed_.valid() ? packed_.data<float>() : nullptr, out);
  }

 private:
  gemm::Gemm<float> gemm_;
  const float* b_ = nullptr;
  Tensor packed_;
};

/// Is the shape of an argument what was wanted?
Status check_block_shape(std::string_view name, const Shape& given, const Shape& wanted);

}  // namespace emplace
