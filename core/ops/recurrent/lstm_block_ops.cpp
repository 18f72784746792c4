// LSTMBlockCell, BlockLSTM, BlockLSTMV2: a step of LSTM cells, or a sequence of them.
#include <algorithm>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/recurrent/lstm_block.h"

namespace emplace {
namespace {

constexpr DTypeSet kBlockTypes{DType::kFloat, DType::kHalf};

Status lstm_cell_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape x, c.with_rank(0, 2));
  ASSIGN_OR_RETURN(const Shape cell, c.with_rank(1, 2));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Shape{x.dim(0), cell.dim(1)});
  return ok_status();
}

Status block_lstm_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape x, c.with_rank(1, 3));
  ASSIGN_OR_RETURN(const Shape bias, c.with_rank(c.num_inputs() - 1, 1));
  ASSIGN_OR_RETURN(const int64_t units, divide_dim_evenly(bias.dim(0), 4));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Shape{x.dim(0), x.dim(1), units});
  return ok_status();
}

/// Arguments from `x` on, in both ops in the same order.
class LstmArguments {
 public:
  LstmArguments(const KernelContext& c, int first) : c_(c), first_(first) {}
  const Tensor& x() const { return c_.input(first_); }
  const Tensor& cell() const { return c_.input(first_ + 1); }
  const Tensor& state() const { return c_.input(first_ + 2); }
  const Tensor& weights() const { return c_.input(first_ + 3); }
  const Tensor& peephole(int i) const { return c_.input(first_ + 4 + i); }
  const Tensor& bias() const { return c_.input(first_ + 7); }

  Status check(const LstmBlockSizes& s, bool peeps) const {
    RETURN_IF_ERROR(check_block_shape("cs_prev", cell().shape(), Shape{s.batch, s.units}));
    RETURN_IF_ERROR(check_block_shape("h_prev", state().shape(), Shape{s.batch, s.units}));
    RETURN_IF_ERROR(check_block_shape("w", weights().shape(), Shape{s.inputs + s.units, 4 * s.units}));
    RETURN_IF_ERROR(check_block_shape("b", bias().shape(), Shape{4 * s.units}));
    static constexpr std::string_view kNames[] = {"wci", "wcf", "wco"};
    for (int i = 0; i < 3; ++i) {
      const Shape& given = peephole(i).shape();
      if (given.rank() == 1 && !peeps) continue;
      RETURN_IF_ERROR(check_block_shape(kNames[i], given, Shape{s.units}));
    }
    return ok_status();
  }

 private:
  const KernelContext& c_;
  const int first_;
};

class BlockLstm final : public Kernel {
 public:
  explicit BlockLstm(const KernelInit& init)
      : cell_(init.op == "LSTMBlockCell"),
        peeps_(init.attrs.flag("use_peephole")),
        half_(init.output_types[0] == DType::kHalf) {
    forward_.clip = init.attrs.number("cell_clip");
    forward_.forget_bias = init.attrs.find("forget_bias") ? init.attrs.number("forget_bias") : 0.0f;
    if (init.op == "BlockLSTMV2") forward_.order = {.fresh = 2, .forget = 1};
  }

  Status run(KernelContext& c) override {
    const LstmArguments a(c, cell_ ? 0 : 1);
    ASSIGN_OR_RETURN(const LstmBlockSizes s, sizes_of(c, a));
    int64_t steps = s.steps;
    if (!cell_) {
      ASSIGN_OR_RETURN(steps, steps_of(c.input(0), s.steps));
    }
    const Shape out = cell_ ? Shape{s.batch, s.units} : Shape{s.steps, s.batch, s.units};
    for (int i = 0; i < 7; ++i) {
      RETURN_IF_ERROR(ensure_output(c, i, out));
      Tensor& t = c.output(i);
      if (steps < s.steps) {
        const int64_t from = steps * s.cells();
        std::fill_n(static_cast<char*>(element_at(t, from)), (t.num_elements() - from) * element_stride(t.dtype()),
                    '\0');
      }
    }
    if (s.cells() == 0 || steps == 0) return ok_status();
    return half_ ? run_steps<half>(c, a, s, steps) : run_steps<float>(c, a, s, steps);
  }

 private:
  Result<LstmBlockSizes> sizes_of(const KernelContext& c, const LstmArguments& a) const {
    const Shape &x = a.x().shape(), &cell = a.cell().shape();
    if (x.rank() != (cell_ ? 2 : 3))
      return invalid_argument(cat("x must be ", cell_ ? "2" : "3", "D, got shape ", x.to_string()));
    if (cell.rank() != 2) return invalid_argument(cat("cs_prev must be 2D, got shape ", cell.to_string()));
    LstmBlockSizes s{.steps = 1, .batch = x.dim(0), .inputs = x.dim(1), .units = cell.dim(1)};
    if (!cell_) s = {.steps = x.dim(0), .batch = x.dim(1), .inputs = x.dim(2), .units = cell.dim(1)};
    if (cell_ && cell.num_elements() == 0)
      return invalid_argument(cat("cs_prev_tensor is empty, has shape: ", cell.to_string()));
    RETURN_IF_ERROR(a.check(s, peeps_ || !cell_));
    if (!cell_ && c.input(0).shape().rank() != 0) {
      return invalid_argument(cat("`seq_len_max_tensor` must be rank 0 but is rank ", c.input(0).shape().rank()));
    }
    return s;
  }
  static Result<int64_t> steps_of(const Tensor& given, int64_t steps) {
    const int64_t n = int_at(given, 0);
    if (n >= 0 && n <= steps) return n;
    return invalid_argument(cat("seq_len_max must be between 0 and ", steps, " but is ", n));
  }

  template <class T>
  Status run_steps(KernelContext& c, const LstmArguments& a, const LstmBlockSizes& s, int64_t steps) {
    const DType type = c.output(0).dtype();
    Tensor own_x, own_weights, own_states;
    ASSIGN_OR_RETURN(const float* x, as_floats(c, type, a.x().raw(), steps * s.batch * s.inputs, own_x));
    ASSIGN_OR_RETURN(const float* w, as_floats(c, type, a.weights().raw(), a.weights().num_elements(), own_weights));
    ASSIGN_OR_RETURN(Tensor of_inputs, c.allocate_scratch(DType::kFloat, Shape{steps, s.batch, 4 * s.units}));
    ASSIGN_OR_RETURN(Tensor of_states, c.allocate_scratch(DType::kFloat, Shape{s.batch, 4 * s.units}));
    PackedProduct of_input, of_state;
    RETURN_IF_ERROR(of_input.prepare(c, steps * s.batch, 4 * s.units, s.inputs, false, false, w));
    RETURN_IF_ERROR(of_state.prepare(c, s.batch, 4 * s.units, s.units, false, false, w + s.inputs * 4 * s.units));
    of_input.run(c, x, of_inputs.data<float>());

    LstmForward forward = forward_;
    forward.units = s.units;
    forward.bias = a.bias().raw();
    Peepholes<T> peep;
    if (peeps_) peep = {a.peephole(0).data<T>(), a.peephole(1).data<T>(), a.peephole(2).data<T>()};
    const LstmForwardCode<T> code = lstm_forward_code<T>();
    for (int64_t t = 0; t < steps; ++t) {
      const T* cells = t == 0 ? a.cell().data<T>() : c.out<T>(1) + (t - 1) * s.cells();
      const T* states = t == 0 ? a.state().data<T>() : c.out<T>(6) + (t - 1) * s.cells();
      ASSIGN_OR_RETURN(const float* known, as_floats(c, type, states, s.cells(), own_states));
      of_state.run(c, known, of_states.data<float>());
      const float* inputs = of_inputs.data<float>() + t * s.batch * 4 * s.units;
      c.parallel_for(s.batch, 12.0 * static_cast<double>(s.units), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const int64_t at = t * s.cells() + b * s.units;
          const LstmRow<T> row{c.out<T>(0) + at, c.out<T>(1) + at, c.out<T>(2) + at, c.out<T>(3) + at,
                               c.out<T>(4) + at, c.out<T>(5) + at, c.out<T>(6) + at};
          code(forward, peep, inputs + b * 4 * s.units, of_states.data<float>() + b * 4 * s.units, cells + b * s.units,
               row);
        }
      });
    }
    return ok_status();
  }

  const bool cell_, peeps_, half_;
  LstmForward forward_{};
};

/// Of what the steps keep, gradients of the cell and of the state alone arrive. TensorFlow has one gradient for both
/// versions: that of the first, whose gates are in its order.
Status block_lstm_gradient(GradientContext& g) {
  std::vector<Value> inputs;
  inputs.reserve(18);
  for (int i = 0; i < 9; ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < 7; ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.grad(1));
  inputs.push_back(g.grad(6));
  const Value made = g.add("BlockLSTMGrad", inputs, g.copy_attrs({"use_peephole"}));
  for (int i = 0; i < 8; ++i) g.set(i + 1, made.output(static_cast<uint32_t>(i)));
  return g.status();
}

}  // namespace

OpDef lstm_block_cell_op() {
  return OpDef("LSTMBlockCell")
      .doc("A step of LSTM cells: gates, cell and state.")
      .shape(lstm_cell_shape)
      .cpu(kBlockTypes, make<BlockLstm>);
}
OpDef block_lstm_op() {
  return OpDef("BlockLSTM")
      .doc("Steps of LSTM cells, seq_len_max of them: gates, cells and states of each.")
      .shape(block_lstm_shape)
      .cpu(kBlockTypes, make<BlockLstm>)
      .gradient(block_lstm_gradient);
}
OpDef block_lstm_v2_op() {
  return OpDef("BlockLSTMV2")
      .doc("Steps of LSTM cells whose gates come in the order in, forget, new cell, out.")
      .shape(block_lstm_shape)
      .cpu(kBlockTypes, make<BlockLstm>)
      .gradient(block_lstm_gradient);
}

}  // namespace emplace
