// OnnxLSTMGrad, OnnxGRUGrad, OnnxRNNGrad: the gradients of a recurrent layer for its inputs but the lengths, in their
// order.
#include <algorithm>

#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/gemm/gemm.h"
#include "core/ops/kit/element.h"
#include "core/ops/recurrent/recurrent_backward.h"
#include "core/ops/recurrent/recurrent_shapes.h"

namespace emplace {
namespace {

constexpr int64_t kRowsAtOnce = 8;  // of a batch: the products of a step, and what threads share

Status gradients_shape(ShapeContext& c, const RecurrentInputs& in, int gates) {
  ASSIGN_OR_RETURN(const Shape y, recurrent_output(c, in, gates));
  for (int i : {in.lengths + 1, in.lengths + 2}) RETURN_IF_ERROR(ShapeContext::merge(c.input(i), y).take_status());
  const Shape state{y.dim(1), y.dim(2)};
  for (int i = in.lengths + 3; i < c.num_inputs(); ++i)
    RETURN_IF_ERROR(ShapeContext::merge(c.input(i), state).take_status());
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(i));
  return ok_status();
}

using Product = gemm::Gemm<float>;

/// What a block of rows of a batch keeps from step to step.
struct RowsInFlight {
  int64_t first, rows;
  ScratchVector<float> dh, dc, given, back;  // [rows, hidden], but given: [rows, gates * hidden]
  RowsInFlight(int64_t first_row, int64_t count, int64_t hidden, int gates)
      : first(first_row),
        rows(count),
        dh(static_cast<size_t>(count * hidden)),
        dc(dh.size()),
        given(dh.size() * static_cast<size_t>(gates)),
        back(dh.size()) {}
};

/// Weights of the states as products want them: those of gates that see the state as it is, and of GRU those of the
/// fresh one apart; each as it lies, and packed for products with its transpose.
struct StateWeights {
  int64_t width = 0;  // of `direct`, in columns
  const float *direct = nullptr, *fresh = nullptr;
  Tensor own_direct, own_fresh, packed_direct, packed_fresh;
  const float* packed(const Tensor& t) const { return t.valid() ? t.data<float>() : nullptr; }
};

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
    std::vector<Tensor> room;
    RETURN_IF_ERROR(take_room(c, b, room));
    StateWeights weights;
    RETURN_IF_ERROR(order_weights(c, b, weights));
    begin(c, b);
    if (has_hidden_gates(kind_)) RETURN_IF_ERROR(remember(c, b, weights));
    go_back(c, b, weights);
    return finish(c, b);
  }

 private:
  bool is_gru() const { return gates_of(kind_) == 3; }

  void connect(KernelContext& c, RecurrentBackward& b) const {
    b.x = c.in<float>(0), b.r = c.in<float>(in_.r), b.h = c.in<float>(in_.h);
    b.dx = c.out<float>(0), b.dr = c.out<float>(in_.r), b.dh = c.out<float>(in_.h);
    if (in_.bias >= 0) b.bias = c.in<float>(in_.bias), b.dbias = c.out<float>(in_.bias);
    if (in_.c >= 0) b.c = c.in<float>(in_.c), b.dc = c.out<float>(in_.c), b.dc_last = c.in<float>(in_.lengths + 4);
    b.y = c.in<float>(in_.lengths + 1), b.dy = c.in<float>(in_.lengths + 2), b.dh_last = c.in<float>(in_.lengths + 3);
  }

  Status take_room(KernelContext& c, RecurrentBackward& b, std::vector<Tensor>& room) const {
    const auto take = [&](bool wanted, int64_t width, float*& to) -> Status {
      if (!wanted) return ok_status();
      ASSIGN_OR_RETURN(Tensor t, c.allocate_scratch(DType::kFloat, Shape{b.steps, b.batch, width}));
      to = t.data<float>();
      room.push_back(std::move(t));
      return ok_status();
    };
    RETURN_IF_ERROR(take(true, b.hidden, b.before));
    RETURN_IF_ERROR(take(has_hidden_gates(kind_), gates_of(kind_) * b.hidden, b.gates));
    RETURN_IF_ERROR(take(kind_ == RecurrentKind::kLstm, b.hidden, b.cells));
    RETURN_IF_ERROR(take(is_gru(), b.hidden, b.product));
    return take(is_gru(), b.hidden, b.inner);
  }

  /// Columns [from, from + width) of r.
  static Status columns(KernelContext& c, const RecurrentBackward& b, int64_t pitch, int64_t from, int64_t width,
                        Tensor& own) {
    ASSIGN_OR_RETURN(own, c.allocate_scratch(DType::kFloat, Shape{b.hidden, width}));
    for (int64_t k = 0; k < b.hidden; ++k) std::copy_n(b.r + k * pitch + from, width, own.data<float>() + k * width);
    return ok_status();
  }

  Product back_product(int64_t rows, int64_t hidden, int64_t width) const {
    return Product(rows, hidden, width, false, true);
  }

  Status pack(KernelContext& c, const RecurrentBackward& b, const float* r, int64_t width, Tensor& packed) const {
    const Product product = back_product(kRowsAtOnce, b.hidden, width);
    if (product.packed_b_size() == 0) return ok_status();
    ASSIGN_OR_RETURN(packed, c.allocate_scratch(DType::kFloat, Shape{product.packed_b_size()}));
    product.pack_b(*c.parallel_, r, packed.data<float>());
    return ok_status();
  }

  Status order_weights(KernelContext& c, const RecurrentBackward& b, StateWeights& w) const {
    const int64_t n = b.hidden;
    w.width = (is_gru() ? 2 : gates_of(kind_)) * n;
    w.direct = b.r;
    if (is_gru()) {
      RETURN_IF_ERROR(columns(c, b, 3 * n, 0, 2 * n, w.own_direct));
      RETURN_IF_ERROR(columns(c, b, 3 * n, 2 * n, n, w.own_fresh));
      w.direct = w.own_direct.data<float>(), w.fresh = w.own_fresh.data<float>();
      RETURN_IF_ERROR(pack(c, b, w.fresh, n, w.packed_fresh));
    }
    return pack(c, b, w.direct, w.width, w.packed_direct);
  }

  /// The states that steps begin with, and zeros behind the end of sequences.
  void begin(KernelContext& c, const RecurrentBackward& b) const {
    const int64_t n = b.hidden, width = gates_of(kind_) * n;
    c.parallel_for(b.batch, 0.2 * static_cast<double>(b.steps * n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t s = 0; s < b.length(row); ++s)
          std::copy_n(s == 0 ? b.h + row * n : b.y + b.at(row, s - 1) * n, n, b.before + b.at(row, s) * n);
        for (int64_t s = b.length(row); s < b.steps; ++s) {
          const int64_t at = s * b.batch + row;
          std::fill_n(b.before + at * n, n, 0.0f);
          std::fill_n(b.dx + at * width, width, 0.0f);
          if (is_gru()) std::fill_n(b.inner + at * n, n, 0.0f);
        }
      }
    });
  }

  /// out [m, n] = a b.
  static Status multiply(KernelContext& c, const Product& product, const float* a, const float* b, float* out) {
    Tensor packed;
    if (product.packed_b_size() > 0) {
      ASSIGN_OR_RETURN(packed, c.allocate_scratch(DType::kFloat, Shape{product.packed_b_size()}));
      product.pack_b(*c.parallel_, b, packed.data<float>());
    }
    product.run(*c.parallel_, a, b, packed.valid() ? packed.data<float>() : nullptr, out);
    return ok_status();
  }

  template <class Code>
  void for_rows(KernelContext& c, const RecurrentBackward& b, const Code& code) const {
    c.parallel_for(b.batch, 2 * static_cast<double>(b.steps * b.hidden * gates_of(kind_)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) code(b, row);
                   });
  }

  /// Gates and cells of all steps, which the layer did not keep.
  Status remember(KernelContext& c, const RecurrentBackward& b, const StateWeights& w) const {
    const int64_t n = b.hidden, all = b.steps * b.batch;
    // All gates' products, those of a fresh state that is made of something else for nothing: the gates lie together.
    RETURN_IF_ERROR(multiply(c, Product(all, gates_of(kind_) * n, n, false, false), b.before, b.r, b.gates));
    for_rows(c, b, code_.gates);
    if (!is_gru()) return ok_status();
    const float* from = kind_ == RecurrentKind::kGruLinear ? b.before : b.inner;
    RETURN_IF_ERROR(multiply(c, Product(all, n, n, false, false), from, w.fresh, b.product));
    for_rows(c, b, code_.fresh);
    return ok_status();
  }

  void go_back(KernelContext& c, const RecurrentBackward& b, const StateWeights& w) const {
    const int64_t n = b.hidden, blocks = (b.batch + kRowsAtOnce - 1) / kRowsAtOnce;
    const double step_ns = static_cast<double>(kRowsAtOnce * n * gates_of(kind_)) * (0.02 * static_cast<double>(n) + 2);
    c.parallel_for(blocks, step_ns * static_cast<double>(b.steps), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * kRowsAtOnce;
        RowsInFlight rows(first, std::min(kRowsAtOnce, b.batch - first), n, gates_of(kind_));
        go_back(b, w, rows);
      }
    });
  }

  void go_back(const RecurrentBackward& b, const StateWeights& w, RowsInFlight& rows) const {
    const int64_t n = b.hidden, count = rows.rows * n;
    const Product direct = back_product(rows.rows, n, w.width), fresh = back_product(rows.rows, n, n);
    Sequential alone;
    std::copy_n(b.dh_last + rows.first * n, count, rows.dh.data());
    if (in_.c >= 0) std::copy_n(b.dc_last + rows.first * n, count, rows.dc.data());
    for (int64_t s = b.steps; s-- > 0;) {
      for_living(b, rows, s, [&](int64_t row, int64_t m) {
        float* dh = rows.dh.data() + m * n;
        const float* dy = b.dy + b.at(row, s) * n;
        for (int64_t i = 0; i < n; ++i) dh[i] += dy[i];
        code_.step(b, row, s, dh, rows.dc.data() + m * n);
      });
      if (is_gru()) {
        const bool linear = kind_ == RecurrentKind::kGruLinear;
        gather(b, rows, s, linear ? b.inner : b.dx + 2 * n, linear ? n : 3 * n, n);
        fresh.run(alone, rows.given.data(), w.fresh, w.packed(w.packed_fresh), rows.back.data());
        for_living(b, rows, s, [&](int64_t row, int64_t m) {
          code_.reset(b, row, s, rows.back.data() + m * n, rows.dh.data() + m * n);
        });
      }
      gather(b, rows, s, b.dx, gates_of(kind_) * n, w.width);
      direct.run(alone, rows.given.data(), w.direct, w.packed(w.packed_direct), rows.back.data());
      for_living(b, rows, s, [&](int64_t, int64_t m) {
        float* dh = rows.dh.data() + m * n;
        const float* back = rows.back.data() + m * n;
        for (int64_t i = 0; i < n; ++i) dh[i] = is_gru() ? dh[i] + back[i] : back[i];
      });
    }
    std::copy_n(rows.dh.data(), count, b.dh + rows.first * n);
    if (in_.c >= 0) std::copy_n(rows.dc.data(), count, b.dc + rows.first * n);
  }

  /// Those whose sequence has a step s.
  template <class Body>
  static void for_living(const RecurrentBackward& b, const RowsInFlight& rows, int64_t s, const Body& body) {
    for (int64_t m = 0; m < rows.rows; ++m) {
      if (s < b.length(rows.first + m)) body(rows.first + m, m);
    }
  }

  /// The rows' step s of something by step, one below the other; zeros where there is none.
  static void gather(const RecurrentBackward& b, RowsInFlight& rows, int64_t s, const float* from, int64_t pitch,
                     int64_t width) {
    std::fill_n(rows.given.data(), rows.rows * width, 0.0f);
    for_living(b, rows, s, [&](int64_t row, int64_t m) {
      std::copy_n(from + b.at(row, s) * pitch, width, rows.given.data() + m * width);
    });
  }

  /// The weights' gradients: one product over all steps of what was multiplied with what arrived.
  Status finish(KernelContext& c, const RecurrentBackward& b) const {
    const int64_t n = b.hidden, width = gates_of(kind_) * n, all = b.steps * b.batch;
    RETURN_IF_ERROR(multiply(c, Product(n, width, all, true, false), b.before, b.dx, b.dr));
    if (is_gru()) RETURN_IF_ERROR(finish_fresh(c, b));
    if (in_.bias < 0) return ok_status();
    std::fill_n(b.dbias, c.input(in_.bias).num_elements(), 0.0f);
    for (int64_t at = 0; kind_ == RecurrentKind::kGruLinear && at < all; ++at) {
      for (int64_t i = 0; i < n; ++i) b.dbias[i] += b.inner[at * n + i];
    }
    return ok_status();
  }

  Status finish_fresh(KernelContext& c, const RecurrentBackward& b) const {
    const int64_t n = b.hidden, all = b.steps * b.batch;
    const bool linear = kind_ == RecurrentKind::kGruLinear;
    ASSIGN_OR_RETURN(Tensor made, c.allocate_scratch(DType::kFloat, Shape{n, n}));
    // Gradients of the fresh state lie among those of the gates; `product` was needed last.
    float* of_fresh = b.product;
    for (int64_t at = 0; !linear && at < all; ++at) std::copy_n(b.dx + (at * 3 + 2) * n, n, of_fresh + at * n);
    const Product product(n, n, all, true, false);
    RETURN_IF_ERROR(multiply(c, product, linear ? b.before : b.inner, linear ? b.inner : of_fresh, made.data<float>()));
    for (int64_t k = 0; k < n; ++k) std::copy_n(made.data<float>() + k * n, n, b.dr + (k * 3 + 2) * n);
    return ok_status();
  }

  const RecurrentKind kind_;
  const RecurrentInputs in_;
  const bool reverse_;
  const RecurrentBackwardCode code_;
};

Result<std::unique_ptr<Kernel>> gradients_of(const KernelInit& init, RecurrentKind kind, const RecurrentInputs& in) {
  return owned_kernel(new RecurrentGradients(init, kind, in));
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
