// LSTMBlockCellGrad, BlockLSTMGrad, BlockLSTMGradV2: from what a step of LSTM cells gave, and what arrives at it.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/recurrent/lstm_block.h"

namespace emplace {
namespace {

constexpr DTypeSet kLstmTypes{DType::kFloat, DType::kHalf};
constexpr std::string_view kGivenNames[] = {"i", "cs", "f", "o", "ci", "co", "h"};

Status cell_gradient_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape x, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(const Shape cell, c.with_rank(1, 2));
  ASSIGN_OR_RETURN(const int64_t gates, multiply_dims(cell.dim(1), 4));
  c.set_output(0, Shape{x.dim(0), cell.dim(1)});
  c.set_output(1, Shape{x.dim(0), gates});
  for (int i = 2; i < 5; ++i) c.set_output(i, Shape{cell.dim(1)});
  return ok_status();
}

Status block_gradient_shape(ShapeContext& c) {
  static constexpr int kRanks[] = {3, 2, 2, 2, 1, 1, 1, 1};
  for (int i = 0; i < 8; ++i) {
    ASSIGN_OR_RETURN(const Shape shape, c.with_rank(i + 1, kRanks[i]));
    c.set_output(i, shape);
  }
  return ok_status();
}

/// Vectors of peepholes: of the units where they are used.
Status check_peepholes(const KernelContext& c, int first, int64_t units, bool used) {
  static constexpr std::string_view kNames[] = {"wci", "wcf", "wco"};
  for (int i = 0; i < 3; ++i) {
    const Shape& given = c.input(first + i).shape();
    if (given.rank() == 1 && !used) continue;
    RETURN_IF_ERROR(check_block_shape(kNames[i], given, Shape{units}));
  }
  return ok_status();
}

void fill_zero(Tensor& t) {
  std::fill_n(static_cast<char*>(t.raw()), t.num_elements() * element_stride(t.dtype()), '\0');
}

template <class T>
Peepholes<T> peepholes_at(const KernelContext& c, int first, bool used) {
  if (!used) return {};
  return {c.in<T>(first), c.in<T>(first + 1), c.in<T>(first + 2)};
}

class LstmCellGradient final : public Kernel {
 public:
  explicit LstmCellGradient(const KernelInit& init) : peeps_(init.attrs.flag("use_peephole")) {}
  Status run(KernelContext& c) override {
    const Shape &x = c.input(0).shape(), &cell = c.input(1).shape();
    if (x.rank() != 2 || cell.rank() != 2)
      return invalid_argument(cat("x and cs_prev must be 2D, got ", x.to_string(), " and ", cell.to_string()));
    const LstmBlockSizes s{.steps = 1, .batch = x.dim(0), .inputs = x.dim(1), .units = cell.dim(1)};
    RETURN_IF_ERROR(check(c, s));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{s.batch, s.units}));
    RETURN_IF_ERROR(ensure_output(c, 1, Shape{s.batch, 4 * s.units}));
    for (int i = 2; i < 5; ++i) {
      RETURN_IF_ERROR(ensure_output(c, i, c.input(2 + i).shape()));
      fill_zero(c.output(i));
    }
    if (c.output(0).dtype() == DType::kHalf)
      give<half>(c, s);
    else
      give<float>(c, s);
    return ok_status();
  }

 private:
  Status check(const KernelContext& c, const LstmBlockSizes& s) const {
    const Shape state{s.batch, s.units};
    RETURN_IF_ERROR(check_block_shape("cs_prev", c.input(1).shape(), state));
    RETURN_IF_ERROR(check_block_shape("h_prev", c.input(2).shape(), state));
    RETURN_IF_ERROR(check_block_shape("w", c.input(3).shape(), Shape{s.inputs + s.units, 4 * s.units}));
    RETURN_IF_ERROR(check_peepholes(c, 4, s.units, peeps_));
    RETURN_IF_ERROR(check_block_shape("b", c.input(7).shape(), Shape{4 * s.units}));
    for (int i = 0; i < 6; ++i) RETURN_IF_ERROR(check_block_shape(kGivenNames[i], c.input(8 + i).shape(), state));
    RETURN_IF_ERROR(check_block_shape("cs_grad", c.input(14).shape(), state));
    return check_block_shape("h_grad", c.input(15).shape(), state);
  }
  template <class T>
  static LstmGiven<T> row_of(const KernelContext& c, int64_t at) {
    return {c.in<T>(8) + at,  c.in<T>(9) + at, c.in<T>(10) + at, c.in<T>(11) + at, c.in<T>(12) + at,
            c.in<T>(13) + at, c.in<T>(1) + at, c.in<T>(14) + at, c.in<T>(15) + at};
  }
  template <class T>
  void give(KernelContext& c, const LstmBlockSizes& s) const {
    const auto peep = peepholes_at<T>(c, 4, peeps_);
    const LstmBackwardCode<T> code = lstm_backward_code<T>();
    c.parallel_for(s.batch, 6.0 * static_cast<double>(s.units), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        code(s.units, {}, peep, row_of<T>(c, b * s.units), c.out<T>(1) + b * 4 * s.units, c.out<T>(0) + b * s.units);
      }
    });
    for (int64_t b = 0; b < s.batch && peeps_; ++b) {
      add_peephole_gradients<T>(s.units, {}, row_of<T>(c, b * s.units), c.out<T>(1) + b * 4 * s.units, c.out<T>(2),
                                c.out<T>(3), c.out<T>(4));
    }
  }

  const bool peeps_;
};

class BlockLstmGradient final : public Kernel {
 public:
  explicit BlockLstmGradient(const KernelInit& init) : peeps_(init.attrs.flag("use_peephole")) {
    if (init.op == "BlockLSTMGradV2") order_ = {.fresh = 2, .forget = 1};
  }
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const LstmBlockSizes s, sizes_of(c));
    if (c.input(0).shape().rank() != 0) {
      return invalid_argument(cat("`seq_len_max_tensor` must be rank 0 but is rank ", c.input(0).shape().rank()));
    }
    const int64_t steps = int_at(c.input(0), 0);
    if (steps < 0 || steps > s.steps)
      return invalid_argument(cat("seq_len_max must be between 0 and ", s.steps, " but is ", steps));
    for (int i = 0; i < 8; ++i) {
      RETURN_IF_ERROR(ensure_output(c, i, c.input(i + 1).shape()));
      fill_zero(c.output(i));
    }
    if (s.batch == 0 || steps == 0) return ok_status();
    return c.output(0).dtype() == DType::kHalf ? go_back<half>(c, s, steps) : go_back<float>(c, s, steps);
  }

 private:
  Result<LstmBlockSizes> sizes_of(const KernelContext& c) const {
    const Shape &x = c.input(1).shape(), &w = c.input(4).shape();
    if (x.rank() != 3) return invalid_argument(cat("x must be rank 3 but is rank ", x.rank()));
    if (w.rank() != 2) return invalid_argument(cat("w must be rank 2 but is rank ", w.rank()));
    if (w.dim(1) <= 0 || w.dim(1) % 4 != 0) {
      return invalid_argument(cat("w matrix columns must be a positive multiple of 4, but got ", w.dim(1)));
    }
    const LstmBlockSizes s{.steps = x.dim(0), .batch = x.dim(1), .inputs = x.dim(2), .units = w.dim(1) / 4};
    if (s.inputs + s.units != w.dim(0))
      return invalid_argument(cat("w matrix rows don't match: ", s.inputs + s.units, " vs. ", w.dim(0)));
    RETURN_IF_ERROR(check_block_shape("cs_prev", c.input(2).shape(), Shape{s.batch, s.units}));
    RETURN_IF_ERROR(check_block_shape("h_prev", c.input(3).shape(), Shape{s.batch, s.units}));
    RETURN_IF_ERROR(check_peepholes(c, 5, s.units, peeps_));
    RETURN_IF_ERROR(check_block_shape("b", c.input(8).shape(), Shape{4 * s.units}));
    const Shape all{s.steps, s.batch, s.units};
    for (int i = 0; i < 7; ++i) RETURN_IF_ERROR(check_block_shape(kGivenNames[i], c.input(9 + i).shape(), all));
    RETURN_IF_ERROR(check_block_shape("cs_grad", c.input(16).shape(), all));
    RETURN_IF_ERROR(check_block_shape("h_grad", c.input(17).shape(), all));
    return s;
  }

  /// Step by step to the gates of all; then, at once, to what the gates were made of.
  template <class T>
  Status go_back(KernelContext& c, const LstmBlockSizes& s, int64_t steps) const {
    const DType type = c.output(0).dtype();
    const int64_t width = 4 * s.units, rows = steps * s.batch;
    Tensor own_w, own_gates;
    ASSIGN_OR_RETURN(const float* w, as_floats(c, type, c.input(4).raw(), c.input(4).num_elements(), own_w));
    ASSIGN_OR_RETURN(Tensor gates, c.allocate_scratch(type, Shape{rows, width}));
    ASSIGN_OR_RETURN(Tensor cell_back, c.allocate_scratch(type, Shape{s.cells()}));
    ASSIGN_OR_RETURN(Tensor state_back, c.allocate_scratch(type, Shape{s.cells()}));
    ASSIGN_OR_RETURN(Tensor product, c.allocate_scratch(DType::kFloat, Shape{s.cells()}));
    PackedProduct to_state;
    RETURN_IF_ERROR(to_state.prepare(c, s.batch, s.units, width, false, true, w + s.inputs * width));
    for (int64_t t = steps - 1; t >= 0; --t) {
      step<T>(c, s, t, gates.data<T>() + t * s.batch * width, cell_back.data<T>(), state_back.data<T>());
      ASSIGN_OR_RETURN(const float* given,
                       as_floats(c, type, gates.data<T>() + t * s.batch * width, s.batch * width, own_gates));
      to_state.run(c, given, product.data<float>());
      from_floats(type, product.data<float>(), c.out<T>(2), s.cells());
    }
    ASSIGN_OR_RETURN(const float* all, as_floats(c, type, gates.raw(), rows * width, own_gates));
    RETURN_IF_ERROR(to_input(c, s, rows, all, w));
    RETURN_IF_ERROR(to_weights<T>(c, s, rows, all));
    to_bias(c, rows, width, all);
    return ok_status();
  }

  template <class T>
  void step(KernelContext& c, const LstmBlockSizes& s, int64_t t, T* gates, T* cell_back, T* state_back) const {
    const auto peep = peepholes_at<T>(c, 5, peeps_);
    const LstmBackwardCode<T> code = lstm_backward_code<T>();
    const auto given = [&](int64_t b) {
      const int64_t own = b * s.units, at = t * s.cells() + own;
      const T* before = t == 0 ? c.in<T>(2) + own : c.in<T>(10) + at - s.cells();
      return LstmGiven<T>{c.in<T>(9) + at,  c.in<T>(10) + at, c.in<T>(11) + at, c.in<T>(12) + at, c.in<T>(13) + at,
                          c.in<T>(14) + at, before,           cell_back + own,  state_back + own};
    };
    c.parallel_for(s.batch, 8.0 * static_cast<double>(s.units), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t own = b * s.units, at = t * s.cells() + own;
        for (int64_t i = 0; i < s.units; ++i) {
          cell_back[own + i] = T(c.out<T>(1)[own + i] + c.in<T>(16)[at + i]);
          state_back[own + i] = T(c.out<T>(2)[own + i] + c.in<T>(17)[at + i]);
        }
        code(s.units, order_, peep, given(b), gates + b * 4 * s.units, c.out<T>(1) + own);
      }
    });
    for (int64_t b = 0; b < s.batch && peeps_; ++b) {
      add_peephole_gradients<T>(s.units, order_, given(b), gates + b * 4 * s.units, c.out<T>(4), c.out<T>(5),
                                c.out<T>(6));
    }
  }

  /// out [m, n] = a b, as elements of the op's type from element `at` of output `i` on.
  static Status give_product(KernelContext& c, int i, int64_t at, const gemm::Gemm<float>& product, int64_t n,
                             const float* a, const float* b) {
    Tensor packed;
    if (product.packed_b_size() > 0) {
      ASSIGN_OR_RETURN(packed, c.allocate_scratch(DType::kFloat, Shape{product.packed_b_size()}));
      product.pack_b(*c.parallel_, b, packed.data<float>());
    }
    Tensor made;
    Tensor& out = c.output(i);
    float* to = nullptr;
    if (out.dtype() == DType::kFloat) {
      to = out.data<float>() + at;
    } else {
      ASSIGN_OR_RETURN(made, c.allocate_scratch(DType::kFloat, Shape{n}));
      to = made.data<float>();
    }
    product.run(*c.parallel_, a, b, packed.valid() ? packed.data<float>() : nullptr, to);
    if (made.valid()) from_floats(out.dtype(), to, element_at(out, at), n);
    return ok_status();
  }

  static Status to_input(KernelContext& c, const LstmBlockSizes& s, int64_t rows, const float* gates, const float* w) {
    return give_product(c, 0, 0, {rows, s.inputs, 4 * s.units, false, true}, rows * s.inputs, gates, w);
  }

  template <class T>
  static Status to_weights(KernelContext& c, const LstmBlockSizes& s, int64_t rows, const float* gates) {
    const DType type = c.output(0).dtype();
    const int64_t width = 4 * s.units;
    Tensor own_x, own_states;
    ASSIGN_OR_RETURN(const float* x, as_floats(c, type, c.input(1).raw(), rows * s.inputs, own_x));
    RETURN_IF_ERROR(give_product(c, 3, 0, {s.inputs, width, rows, true, false}, s.inputs * width, x, gates));
    ASSIGN_OR_RETURN(Tensor states, c.allocate_scratch(type, Shape{rows, s.units}));
    std::copy_n(c.in<T>(3), s.cells(), states.data<T>());
    std::copy_n(c.in<T>(15), rows * s.units - s.cells(), states.data<T>() + s.cells());
    ASSIGN_OR_RETURN(const float* h, as_floats(c, type, states.raw(), rows * s.units, own_states));
    return give_product(c, 3, s.inputs * width, {s.units, width, rows, true, false}, s.units * width, h, gates);
  }

  static void to_bias(KernelContext& c, int64_t rows, int64_t width, const float* gates) {
    c.parallel_for(width, 0.5 * static_cast<double>(rows), [&](int64_t begin, int64_t end) {
      ScratchVector<float> sums(static_cast<size_t>(end - begin));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = begin; i < end; ++i) sums[static_cast<size_t>(i - begin)] += gates[r * width + i];
      }
      from_floats(c.output(7).dtype(), sums.data(), element_at(c.output(7), begin), end - begin);
    });
  }

  const bool peeps_;
  GateOrder order_;
};

}  // namespace

OpDef lstm_block_cell_grad_op() {
  return OpDef("LSTMBlockCellGrad")
      .doc("Gradients of a step of LSTM cells: of the cell before, of the gates and of the peepholes.")
      .shape(cell_gradient_shape)
      .cpu(kLstmTypes, make<LstmCellGradient>);
}
OpDef block_lstm_grad_op() {
  return OpDef("BlockLSTMGrad")
      .doc("Gradients of BlockLSTM for its inputs, in their order.")
      .shape(block_gradient_shape)
      .cpu(kLstmTypes, make<BlockLstmGradient>);
}
OpDef block_lstm_grad_v2_op() {
  return OpDef("BlockLSTMGradV2")
      .doc("Gradients of BlockLSTMV2 for its inputs, in their order.")
      .shape(block_gradient_shape)
      .cpu(kLstmTypes, make<BlockLstmGradient>);
}

}  // namespace emplace
