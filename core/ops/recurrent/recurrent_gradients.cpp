// OnnxLSTMGrad, OnnxGRUGrad, OnnxRNNGrad: the gradients of a recurrent layer for its inputs but the lengths, in their
// order.
#include <algorithm>

#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/recurrent/recurrent_backward.h"
#include "core/ops/recurrent/recurrent_shapes.h"

namespace emplace {
namespace {

constexpr int64_t kWeightRows = 8;  // of dr at a time, while a row of dx is in cache

Status gradients_shape(ShapeContext& c, const RecurrentInputs& in, int gates) {
  ASSIGN_OR_RETURN(const Shape y, recurrent_output(c, in, gates));
  for (int i : {in.lengths + 1, in.lengths + 2}) RETURN_IF_ERROR(ShapeContext::merge(c.input(i), y).take_status());
  const Shape state{y.dim(1), y.dim(2)};
  for (int i = in.lengths + 3; i < c.num_inputs(); ++i)
    RETURN_IF_ERROR(ShapeContext::merge(c.input(i), state).take_status());
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(i));
  return ok_status();
}

class RecurrentGradients final : public Kernel {
 public:
  RecurrentGradients(const KernelInit& init, RecurrentKind kind, const RecurrentInputs& in)
      : kind_(kind), in_(in), reverse_(init.attrs.flag("reverse")), code_(recurrent_backward_code(kind)) {}

  Status run(KernelContext& c) override {
    const Tensor& lengths = c.input(in_.lengths);
    RecurrentBackward b{};
    b.steps = c.input(0).shape().dim(0), b.batch = c.input(0).shape().dim(1), b.hidden = c.input(in_.r).shape().dim(0);
    RETURN_IF_ERROR(check_lengths(lengths, b.batch, b.steps));
    if (kind_ == RecurrentKind::kGruLinear) RETURN_IF_ERROR(check_bias(c.input(in_.bias), b.hidden));
    for (int i = 0; i < c.num_outputs(); ++i) RETURN_IF_ERROR(ensure_output(c, i, c.input(i).shape()));
    b.reverse = reverse_;
    b.lengths = lengths.num_elements() > 0 ? lengths.data<int32_t>() : nullptr;
    connect(c, b);
    const Shape states{b.steps, b.batch, b.hidden};
    ASSIGN_OR_RETURN(Tensor before, c.allocate_scratch(DType::kFloat, states));
    ASSIGN_OR_RETURN(Tensor inner, c.allocate_scratch(DType::kFloat, gates_of(kind_) == 3 ? states : Shape{0}));
    const Shape all{b.batch, recurrent_backward_room(kind_, b.steps, b.hidden)};
    ASSIGN_OR_RETURN(Tensor room, c.allocate_scratch(DType::kFloat, all));
    b.before = before.data<float>(), b.inner = inner.data<float>(), b.room = room.data<float>();
    run_parts(c, b);
    return ok_status();
  }

 private:
  void connect(KernelContext& c, RecurrentBackward& b) const {
    b.x = c.in<float>(0), b.r = c.in<float>(in_.r), b.h = c.in<float>(in_.h);
    b.dx = c.out<float>(0), b.dr = c.out<float>(in_.r), b.dh = c.out<float>(in_.h);
    if (in_.bias >= 0) b.bias = c.in<float>(in_.bias), b.dbias = c.out<float>(in_.bias);
    if (in_.c >= 0) b.c = c.in<float>(in_.c), b.dc = c.out<float>(in_.c), b.dc_last = c.in<float>(in_.lengths + 4);
    b.y = c.in<float>(in_.lengths + 1), b.dy = c.in<float>(in_.lengths + 2), b.dh_last = c.in<float>(in_.lengths + 3);
  }

  void run_parts(KernelContext& c, const RecurrentBackward& b) const {
    const double product_ns = 0.1 * gates_of(kind_) * static_cast<double>(b.hidden) * static_cast<double>(b.hidden);
    c.parallel_for(b.batch, 2 * product_ns * static_cast<double>(b.steps), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) code_.row(b, row);
    });
    const int64_t rows = b.steps * b.batch, blocks = (b.hidden + kWeightRows - 1) / kWeightRows;
    const double block_ns = product_ns * static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(blocks, 1));
    c.parallel_for(blocks, block_ns, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        code_.weights(b, i * kWeightRows, std::min(b.hidden, (i + 1) * kWeightRows));
    });
    if (in_.bias < 0) return;
    const int64_t biases = c.input(in_.bias).num_elements();
    std::fill_n(b.dbias, biases, 0.0f);
    for (int64_t at = 0; kind_ == RecurrentKind::kGruLinear && at < rows; ++at) {
      for (int64_t i = 0; i < b.hidden; ++i) b.dbias[i] += b.inner[at * b.hidden + i];
    }
  }

  const RecurrentKind kind_;
  const RecurrentInputs in_;
  const bool reverse_;
  const RecurrentBackwardCode code_;
};

Result<std::unique_ptr<Kernel>> gradients_of(const KernelInit& init, RecurrentKind kind, const RecurrentInputs& in) {
  return std::unique_ptr<Kernel>(std::make_unique<RecurrentGradients>(init, kind, in));
}
Result<std::unique_ptr<Kernel>> make_lstm_gradients(const KernelInit& init) {
  return gradients_of(init, RecurrentKind::kLstm, kLstmInputs);
}
Result<std::unique_ptr<Kernel>> make_gru_gradients(const KernelInit& init) {
  const bool linear = init.attrs.flag("linear_before_reset");
  return gradients_of(init, linear ? RecurrentKind::kGruLinear : RecurrentKind::kGru, kGruInputs);
}
Result<std::unique_ptr<Kernel>> make_rnn_gradients(const KernelInit& init) {
  const bool relu = init.attrs.text("activation") == "Relu";
  return gradients_of(init, relu ? RecurrentKind::kRnnRelu : RecurrentKind::kRnnTanh, kRnnInputs);
}

}  // namespace

OpDef onnx_lstm_grad_op() {
  return OpDef("OnnxLSTMGrad")
      .doc("Gradients of OnnxLSTM, whose output was y, for x, r and the first states.")
      .shape([](ShapeContext& c) { return gradients_shape(c, kLstmInputs, 4); })
      .cpu(kRecurrentTypes, make_lstm_gradients);
}

OpDef onnx_gru_grad_op() {
  return OpDef("OnnxGRUGrad")
      .doc("Gradients of OnnxGRU, whose output was y, for x, r, the bias and the first states.")
      .shape([](ShapeContext& c) { return gradients_shape(c, kGruInputs, 3); })
      .cpu(kRecurrentTypes, make_gru_gradients);
}

OpDef onnx_rnn_grad_op() {
  return OpDef("OnnxRNNGrad")
      .doc("Gradients of OnnxRNN, whose output was y, for x, r and the first states.")
      .shape([](ShapeContext& c) { return gradients_shape(c, kRnnInputs, 1); })
      .cpu(kRecurrentTypes, make_rnn_gradients);
}

}  // namespace emplace
