// OnnxLSTM, OnnxGRU, OnnxRNN: a layer of recurrent cells, all its steps in one kernel. What the input gives to the
// gates, x W^T and the biases, is a product of all steps at once in front of it.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/recurrent/recurrent_block.h"
#include "core/ops/recurrent/recurrent_shapes.h"

namespace emplace {
namespace {

Status recurrent_shape(ShapeContext& c, const RecurrentInputs& in, int gates) {
  ASSIGN_OR_RETURN(const Shape y, recurrent_output(c, in, gates));
  c.set_output(0, y);
  for (int i = 1; i < c.num_outputs(); ++i) c.set_output(i, Shape{y.dim(1), y.dim(2)});
  return ok_status();
}

// Steps of a block: packing costs about as much as reading the weights in two or three of them.
constexpr int64_t kEnoughSteps = 12;

class RecurrentLayer final : public Kernel {
 public:
  RecurrentLayer(const KernelInit& init, RecurrentKind kind, const RecurrentInputs& in)
      : kind_(kind), in_(in), reverse_(init.attrs.flag("reverse")), code_(recurrent_code(kind)) {}

  Status prepare(KernelContext& c) override {
    const Shape &x = c.input(0).shape(), &r = c.input(in_.r).shape();
    packed_ = Tensor();
    packed_size_ = r.rank() == 2 && x.rank() == 3 && x.dim(1) > 1 ? RecurrentWeights::packed_size(kind_, r.dim(0)) : 0;
    return ok_status();
  }

  Workspace workspace() const override { return {.kept = packed_size_ * static_cast<int64_t>(sizeof(float))}; }

  Status run(KernelContext& c) override {
    const Shape &x = c.input(0).shape(), &r = c.input(in_.r).shape();
    RecurrentBlock b{};
    b.steps = x.dim(0), b.batch = x.dim(1), b.hidden = r.dim(0);
    RETURN_IF_ERROR(check(c, b));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{b.steps, b.batch, b.hidden}));
    for (int i = 1; i < c.num_outputs(); ++i) RETURN_IF_ERROR(ensure_output(c, i, Shape{b.batch, b.hidden}));
    b.x = c.in<float>(0), b.h = c.in<float>(in_.h);
    if (in_.bias >= 0) b.bias = c.in<float>(in_.bias);
    if (in_.c >= 0) b.c = c.in<float>(in_.c), b.c_last = c.out<float>(2);
    b.y = c.out<float>(0), b.h_last = c.out<float>(1);
    b.reverse = reverse_;
    if (b.batch == 0 || b.hidden == 0) return ok_status();
    ASSIGN_OR_RETURN(b.r, weights(c, b));
    run_blocks(c, b);
    return ok_status();
  }

 private:
  Status check(const KernelContext& c, const RecurrentBlock& b) const {
    if (kind_ == RecurrentKind::kGruLinear) RETURN_IF_ERROR(check_bias(c.input(in_.bias), b.hidden));
    return check_lengths(c.input(in_.lengths), b.batch, b.steps);
  }

  // Packed once if they never change, else in every run that reads them often enough. One row reads them as well as
  // they lie.
  Result<RecurrentWeights> weights(KernelContext& c, const RecurrentBlock& b) {
    const float* r = c.in<float>(in_.r);
    const bool same = c.input_is_constant(in_.r);
    if (packed_size_ == 0 || (!same && b.steps * ((b.batch + kRecurrentRows - 1) / kRecurrentRows) < kEnoughSteps))
      return RecurrentWeights::as_they_lie(kind_, b.hidden, r);
    const bool fresh = !packed_.valid();
    if (fresh) {
      ASSIGN_OR_RETURN(packed_, c.allocate_persistent(DType::kFloat, Shape{packed_size_}));
    }
    if (fresh || !same) RecurrentWeights::pack(kind_, b.hidden, r, packed_.data<float>());
    return RecurrentWeights::of_panels(kind_, b.hidden, packed_.data<float>());
  }

  void run_blocks(KernelContext& c, const RecurrentBlock& all) const {
    const Tensor& lengths = c.input(in_.lengths);
    const int64_t rows = recurrent_block_rows(all.batch), blocks = (all.batch + rows - 1) / rows;
    const double cost_ns = 0.1 * static_cast<double>(all.steps * rows * gates_of(kind_)) *
                           static_cast<double>(all.hidden) * static_cast<double>(all.hidden);
    c.parallel_for(blocks, cost_ns, [&](int64_t begin, int64_t end) {
      ScratchVector<float> room(static_cast<size_t>(recurrent_room(kind_, all.hidden)));
      RecurrentBlock b = all;
      b.room = room.data();
      for (int64_t i = begin; i < end; ++i) {
        b.first = i * rows;
        b.rows = std::min<int64_t>(rows, all.batch - b.first);
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
  int64_t packed_size_ = 0;  // of the shapes
  Tensor packed_;            // from the first run on that packs
};

Result<std::unique_ptr<Kernel>> layer_of(const KernelInit& init, RecurrentKind kind, const RecurrentInputs& in) {
  return owned_kernel(new RecurrentLayer(init, kind, in));
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

/// By an op of our own, which computes the gates once more.
Status layer_gradient(GradientContext& g) {
  std::vector<Value> inputs;
  inputs.reserve(static_cast<size_t>(g.num_inputs()) + 4);
  for (int i = 0; i < g.num_inputs(); ++i) inputs.push_back(g.input(i));
  inputs.push_back(g.output(0));
  const int outputs = g.op() == "OnnxLSTM" ? 3 : 2;
  for (int i = 0; i < outputs; ++i) inputs.push_back(g.grad(i));
  const Value made = g.add(cat(g.op(), "Grad"), inputs, g.copy_attrs({"reverse", "linear_before_reset", "activation"}));
  for (int i = 0; i + 1 < g.num_inputs(); ++i) g.set(i, made.output(static_cast<uint32_t>(i)));  // lengths have none
  return g.status();
}

}  // namespace

OpDef onnx_lstm_op() {
  return OpDef("OnnxLSTM")
      .doc(
          "A layer of LSTM cells over x [steps, batch, 4 hidden], which holds x W^T and biases of the gates i, o, f, "
          "c.")
      .shape([](ShapeContext& c) { return recurrent_shape(c, kLstmInputs, 4); })
      .gradient(layer_gradient)
      .cpu(kRecurrentTypes, make_lstm);
}

OpDef onnx_gru_op() {
  return OpDef("OnnxGRU")
      .doc("A layer of GRU cells over x [steps, batch, 3 hidden], which holds x W^T and biases of the gates z, r, h.")
      .shape([](ShapeContext& c) { return recurrent_shape(c, kGruInputs, 3); })
      .gradient(layer_gradient)
      .cpu(kRecurrentTypes, make_gru);
}

OpDef onnx_rnn_op() {
  return OpDef("OnnxRNN")
      .doc("A layer of plain recurrent cells over x [steps, batch, hidden], which holds x W^T and biases.")
      .shape([](ShapeContext& c) { return recurrent_shape(c, kRnnInputs, 1); })
      .gradient(layer_gradient)
      .cpu(kRecurrentTypes, make_rnn);
}

}  // namespace emplace
