// OnnxLSTM, OnnxGRU, OnnxRNN: a layer of recurrent cells, all its steps in one kernel. What the input gives to the
// gates, x W^T and the biases, is a product of all steps at once in front of it.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/recurrent/recurrent_block.h"

namespace emplace {
namespace {

/// Which input is what.
struct RecurrentInputs {
  int r = 1, bias = -1, h = 2, c = -1, lengths = 3;
};
constexpr RecurrentInputs kLstmInputs{1, -1, 2, 3, 4}, kGruInputs{1, 2, 3, -1, 4}, kRnnInputs{1, -1, 2, -1, 3};

Status recurrent_shape(ShapeContext& c, const RecurrentInputs& in, int gates) {
  ASSIGN_OR_RETURN(const Shape x, c.with_rank(0, 3));
  ASSIGN_OR_RETURN(const Shape r, c.with_rank(in.r, 2));
  ASSIGN_OR_RETURN(const Shape first, c.with_rank(in.h, 2));
  ASSIGN_OR_RETURN(const int64_t hidden, ShapeContext::merge_dim(r.dim(0), first.dim(1)));
  ASSIGN_OR_RETURN(const int64_t batch, ShapeContext::merge_dim(x.dim(1), first.dim(0)));
  if (hidden >= 0) {
    ASSIGN_OR_RETURN(const int64_t width, multiply_dims(hidden, gates));
    RETURN_IF_ERROR(ShapeContext::merge_dim(x.dim(2), width).take_status());
    RETURN_IF_ERROR(ShapeContext::merge_dim(r.dim(1), width).take_status());
  }
  if (in.c >= 0) {
    ASSIGN_OR_RETURN(const Shape cells, c.with_rank(in.c, 2));
    RETURN_IF_ERROR(ShapeContext::merge(cells, Shape{batch, hidden}).take_status());
  }
  c.set_output(0, Shape{x.dim(0), batch, hidden});
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, Shape{batch, hidden});
  return ok_status();
}

class RecurrentLayer final : public Kernel {
 public:
  RecurrentLayer(const KernelInit& init, RecurrentKind kind, const RecurrentInputs& in)
      : kind_(kind), in_(in), reverse_(init.attrs.flag("reverse")), code_(recurrent_code(kind)) {}

  Status run(KernelContext& c) override {
    const Shape &x = c.input(0).shape(), &r = c.input(in_.r).shape();
    RecurrentBlock b{};
    b.steps = x.dim(0), b.batch = x.dim(1), b.hidden = r.dim(0);
    RETURN_IF_ERROR(check(c, b));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{b.steps, b.batch, b.hidden}));
    for (int i = 1; i < c.num_outputs(); ++i) RETURN_IF_ERROR(ensure_output(c, i, Shape{b.batch, b.hidden}));
    b.x = c.in<float>(0), b.r = c.in<float>(in_.r), b.h = c.in<float>(in_.h);
    if (in_.bias >= 0) b.bias = c.in<float>(in_.bias);
    if (in_.c >= 0) b.c = c.in<float>(in_.c), b.c_last = c.out<float>(2);
    b.y = c.out<float>(0), b.h_last = c.out<float>(1);
    b.reverse = reverse_;
    if (b.batch == 0 || b.hidden == 0) return ok_status();
    run_blocks(c, b);
    return ok_status();
  }

 private:
  Status check(const KernelContext& c, const RecurrentBlock& b) const {
    const Tensor& lengths = c.input(in_.lengths);
    if (in_.bias >= 0 && kind_ == RecurrentKind::kGruLinear && c.input(in_.bias).num_elements() != b.hidden)
      return invalid_argument(
          cat("bias must have ", b.hidden, " elements, got ", c.input(in_.bias).shape().to_string()));
    if (lengths.num_elements() == 0) return ok_status();
    if (lengths.num_elements() != b.batch)
      return invalid_argument(cat("wanted ", b.batch, " lengths, or none; got ", lengths.num_elements()));
    for (int32_t n : lengths.flat<int32_t>()) {
      if (n < 0 || n > b.steps) return invalid_argument(cat("a sequence of ", n, " of ", b.steps, " steps"));
    }
    return ok_status();
  }

  void run_blocks(KernelContext& c, const RecurrentBlock& all) const {
    const Tensor& lengths = c.input(in_.lengths);
    const int64_t blocks = (all.batch + kRecurrentRows - 1) / kRecurrentRows;
    const double cost_ns = 0.1 * static_cast<double>(all.steps * kRecurrentRows * gates_of(kind_)) *
                           static_cast<double>(all.hidden) * static_cast<double>(all.hidden);
    c.parallel_for(blocks, cost_ns, [&](int64_t begin, int64_t end) {
      ScratchVector<float> room(static_cast<size_t>(recurrent_room(kind_, all.hidden)));
      RecurrentBlock b = all;
      b.room = room.data();
      for (int64_t i = begin; i < end; ++i) {
        b.first = i * kRecurrentRows;
        b.rows = std::min<int64_t>(kRecurrentRows, all.batch - b.first);
        for (int64_t m = 0; m < b.rows; ++m)
          b.lengths[m] = lengths.num_elements() > 0 ? lengths.data<int32_t>()[b.first + m] : all.steps;
        code_(b);
      }
    });
  }

  const RecurrentKind kind_;
  const RecurrentInputs in_;
  const bool reverse_;
  const RecurrentCode code_;
};

Result<std::unique_ptr<Kernel>> layer_of(const KernelInit& init, RecurrentKind kind, const RecurrentInputs& in) {
  return std::unique_ptr<Kernel>(std::make_unique<RecurrentLayer>(init, kind, in));
}
Result<std::unique_ptr<Kernel>> make_lstm(const KernelInit& init) {
  return layer_of(init, RecurrentKind::kLstm, kLstmInputs);
}
Result<std::unique_ptr<Kernel>> make_gru(const KernelInit& init) {
  const bool linear = init.attrs.flag("linear_before_reset");
  return layer_of(init, linear ? RecurrentKind::kGruLinear : RecurrentKind::kGru, kGruInputs);
}
Result<std::unique_ptr<Kernel>> make_rnn(const KernelInit& init) {
  const bool relu = init.attrs.text("activation") == "Relu";
  return layer_of(init, relu ? RecurrentKind::kRnnRelu : RecurrentKind::kRnnTanh, kRnnInputs);
}

constexpr DTypeSet kRecurrentTypes{DType::kFloat};

}  // namespace

OpDef onnx_lstm_op() {
  return OpDef("OnnxLSTM")
      .doc(
          "A layer of LSTM cells over x [steps, batch, 4 hidden], which holds x W^T and biases of the gates i, o, f, "
          "c.")
      .shape([](ShapeContext& c) { return recurrent_shape(c, kLstmInputs, 4); })
      .cpu(kRecurrentTypes, make_lstm);
}

OpDef onnx_gru_op() {
  return OpDef("OnnxGRU")
      .doc("A layer of GRU cells over x [steps, batch, 3 hidden], which holds x W^T and biases of the gates z, r, h.")
      .shape([](ShapeContext& c) { return recurrent_shape(c, kGruInputs, 3); })
      .cpu(kRecurrentTypes, make_gru);
}

OpDef onnx_rnn_op() {
  return OpDef("OnnxRNN")
      .doc("A layer of plain recurrent cells over x [steps, batch, hidden], which holds x W^T and biases.")
      .shape([](ShapeContext& c) { return recurrent_shape(c, kRnnInputs, 1); })
      .cpu(kRecurrentTypes, make_rnn);
}

}  // namespace emplace
