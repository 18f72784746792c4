// Part of core/formats/onnx/op_table.h: RNN, GRU and LSTM: layers of usual cells by ops of our own, all others step by
// step, where the sequence's length has to be known before the run.
#include <algorithm>
#include <functional>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

constexpr int64_t kMostSteps = 4096;

/// What one direction of a recurrent node computes with.
struct RecurrentCell {
  int gates = 1;  // blocks of `hidden` rows in W and R
  int64_t hidden = 0;
  size_t direction = 0;  // of W, R and B
  Endpoint w, r, wb, rb, peepholes;
  std::vector<std::string> functions;
  std::vector<float> alphas, betas;
  float clip = 0;
};

struct RecurrentState {
  Endpoint h, c;
};

using RecurrentStep = RecurrentState (*)(OnnxBlock&, const RecurrentCell&, Endpoint x, const RecurrentState&);

Endpoint activated(OnnxBlock& b, const RecurrentCell& cell, size_t which, Endpoint x) {
  const std::string& name = cell.functions[which];
  const auto number = [&](const std::vector<float>& given, float otherwise) {
    return b.like(x, which < given.size() ? given[which] : otherwise);
  };
  if (cell.clip > 0) x = b.math("ClipByValue", {x, b.like(x, -cell.clip), b.like(x, cell.clip)});
  // These are ops under their own names.
  static constexpr std::string_view kPlain = " Sigmoid Tanh Relu Elu Softsign Softplus ";
  if (kPlain.find(cat(" ", name, " ")) != kPlain.npos) return b.math(name, {x});
  if (name == "Affine") return b.add(b.mul(x, number(cell.alphas, 1)), number(cell.betas, 0));
  if (name == "HardSigmoid") {
    const Endpoint line = b.add(b.mul(x, number(cell.alphas, 0.2F)), number(cell.betas, 0.5F));
    return b.math("ClipByValue", {line, b.like(x, 0), b.like(x, 1)});
  }
  return b.fail(cat("activation '", name, "'"));
}

/// Gate `i` of [batch, gates*hidden].
Endpoint gate(OnnxBlock& b, const RecurrentCell& cell, Endpoint all, int i) {
  return cell.gates == 1 ? all : b.slice(all, 1, i * cell.hidden, (i + 1) * cell.hidden);
}

/// x R^T, of some gates' rows.
Endpoint recurrent_product(OnnxBlock& b, Endpoint x, Endpoint rows) {
  return b.math("MatMul", {x, rows}, {{"transpose_b", attr_of(true)}});
}

Endpoint with_bias(OnnxBlock& b, Endpoint x, Endpoint bias) { return bias.node == kNoNode ? x : b.add(x, bias); }

RecurrentState rnn_step(OnnxBlock& b, const RecurrentCell& cell, Endpoint x, const RecurrentState& s) {
  const Endpoint sum = b.add(x, with_bias(b, recurrent_product(b, s.h, cell.r), cell.rb));
  return {activated(b, cell, 0, sum), {}};
}

RecurrentState gru_step(OnnxBlock& b, const RecurrentCell& cell, Endpoint x, const RecurrentState& s) {
  const auto rows = [&](Endpoint e, int from, int to) { return b.slice(e, 0, from * cell.hidden, to * cell.hidden); };
  const auto bias = [&](int from, int to) { return cell.rb.node == kNoNode ? cell.rb : rows(cell.rb, from, to); };
  const Endpoint both = with_bias(b, recurrent_product(b, s.h, rows(cell.r, 0, 2)), bias(0, 2));
  const Endpoint update = activated(b, cell, 0, b.add(gate(b, cell, x, 0), b.slice(both, 1, 0, cell.hidden)));
  const Endpoint reset =
      activated(b, cell, 0, b.add(gate(b, cell, x, 1), b.slice(both, 1, cell.hidden, 2 * cell.hidden)));
  Endpoint hidden;
  if (b.integer("linear_before_reset", 0) != 0) {
    hidden = b.mul(reset, with_bias(b, recurrent_product(b, s.h, rows(cell.r, 2, 3)), bias(2, 3)));
  } else {
    hidden = with_bias(b, recurrent_product(b, b.mul(reset, s.h), rows(cell.r, 2, 3)), bias(2, 3));
  }
  const Endpoint fresh = activated(b, cell, 1, b.add(gate(b, cell, x, 2), hidden));
  const Endpoint rest = b.sub(b.like(update, 1), update);
  return {b.add(b.mul(rest, fresh), b.mul(update, s.h)), {}};
}

RecurrentState lstm_step(OnnxBlock& b, const RecurrentCell& cell, Endpoint x, const RecurrentState& s) {
  const Endpoint all = b.add(x, with_bias(b, recurrent_product(b, s.h, cell.r), cell.rb));
  const auto peeped = [&](int which, int place, Endpoint c) {
    const Endpoint sum = gate(b, cell, all, which);
    if (cell.peepholes.node == kNoNode) return sum;
    return b.add(sum, b.mul(b.slice(cell.peepholes, 0, place * cell.hidden, (place + 1) * cell.hidden), c));
  };
  const Endpoint in = activated(b, cell, 0, peeped(0, 0, s.c));
  const Endpoint forget =
      b.integer("input_forget", 0) != 0 ? b.sub(b.like(in, 1), in) : activated(b, cell, 0, peeped(2, 2, s.c));
  const Endpoint fresh = activated(b, cell, 1, gate(b, cell, all, 3));
  const Endpoint c = b.add(b.mul(forget, s.c), b.mul(in, fresh));
  const Endpoint out = activated(b, cell, 0, peeped(1, 1, c));
  return {b.mul(out, activated(b, cell, 2, c)), c};
}

struct RecurrentNode {
  RecurrentStep step;
  int gates;
  std::string_view functions;  // one after the other
};

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t size = std::min(text.find(' '), text.size());
    out.emplace_back(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return out;
}

/// Slice `d` of an input that has one per direction; none where the input is left out.
Endpoint of_direction(OnnxBlock& b, size_t input, size_t d) {
  if (!b.has(input)) return {};
  const auto at = static_cast<int64_t>(d);
  return b.squeeze(b.slice(b.input(input), 0, at, at + 1), {0});
}

RecurrentCell recurrent_cell(OnnxBlock& b, const RecurrentNode& node, size_t d, int64_t hidden) {
  RecurrentCell cell;
  cell.gates = node.gates, cell.hidden = hidden, cell.direction = d;
  cell.w = of_direction(b, 1, d), cell.r = of_direction(b, 2, d);
  if (const Endpoint both = of_direction(b, 3, d); both.node != kNoNode) {
    cell.wb = b.slice(both, 0, 0, node.gates * hidden);
    cell.rb = b.slice(both, 0, node.gates * hidden, 2 * node.gates * hidden);
  }
  if (node.gates == 4) cell.peepholes = of_direction(b, 7, d);
  cell.functions = words(node.functions);
  const size_t n = cell.functions.size();
  if (const OnnxAttribute* given = b.attribute("activations", OnnxAttributeType::kStrings)) {
    for (size_t i = 0; i < n && d * n + i < given->strings.size(); ++i) cell.functions[i] = given->strings[d * n + i];
  }
  const auto of_functions = [&](const char* name, std::vector<float>& out) {
    const OnnxAttribute* a = b.attribute(name, OnnxAttributeType::kFloats);
    for (size_t i = 0; a && i < n && d * n + i < a->floats.size(); ++i) out.push_back(a->floats[d * n + i]);
  };
  of_functions("activation_alpha", cell.alphas);
  of_functions("activation_beta", cell.betas);
  cell.clip = b.number("clip", 0);
  return cell;
}

Endpoint reversed(OnnxBlock& b, Endpoint x) {  // [steps, batch, ...]
  if (!b.has(4)) return b.make("ReverseV2", {x, b.ints32({0})});
  return b.make("ReverseSequence", {x, b.input(4)},
                {{"seq_dim", attr_of(int64_t{0})}, {"batch_dim", attr_of(int64_t{1})}});
}

/// One direction over x, [steps, batch, in]: all outputs, [steps, batch, hidden], and the last states.
struct RecurrentRun {
  Endpoint all;
  RecurrentState last;
};

RecurrentState first_states(OnnxBlock& b, const RecurrentNode& node, const RecurrentCell& cell, Endpoint x) {
  const Endpoint zeros = b.make("Fill", {b.concat({b.dim_of(x, 1), b.ints({cell.hidden})}, 0), b.like(x, 0)});
  RecurrentState s{b.has(5) ? of_direction(b, 5, cell.direction) : zeros, {}};
  if (node.gates == 4) s.c = b.has(6) ? of_direction(b, 6, cell.direction) : zeros;
  return s;
}

/// Floats, the usual activations and nothing special: an op of our own has all the steps.
bool is_plain_layer(OnnxBlock& b, const RecurrentNode& node, const RecurrentCell& cell, Endpoint x) {
  const bool usual = cell.functions == words(node.functions);
  const bool relu = node.gates == 1 && cell.functions == words("Relu");
  return (b.type(x) == DType::kFloat || b.type(x) == DType::kHalf) && (usual || relu) && cell.clip <= 0 &&
         cell.peepholes.node == kNoNode && b.integer("input_forget", 0) == 0;
}

/// Of x as it lies, also where the steps go backwards.
RecurrentRun run_layer(OnnxBlock& b, const RecurrentNode& node, const RecurrentCell& cell, Endpoint x, bool backwards) {
  const DType own = b.type(x);
  const auto real = [&](Endpoint e) { return b.cast(e, DType::kFloat); };
  const RecurrentState first = first_states(b, node, cell, x);
  const bool linear = node.gates == 3 && b.integer("linear_before_reset", 0) != 0;
  Endpoint rows = with_bias(b, recurrent_product(b, b.reshape(x, Ints{-1, b.dim(b.input(1), 2)}), cell.w), cell.wb),
           bias;
  if (cell.rb.node != kNoNode && linear) {
    bias = b.slice(cell.rb, 0, 2 * cell.hidden, 3 * cell.hidden);
    const Endpoint gates = b.slice(cell.rb, 0, 0, 2 * cell.hidden);
    rows = b.add(rows, b.concat({gates, b.make("ZerosLike", {bias})}, 0));
  } else {
    rows = with_bias(b, rows, cell.rb);
  }
  if (bias.node == kNoNode) bias = b.make("Fill", {b.ints({linear ? cell.hidden : 0}), b.like(x, 0)});
  const Endpoint gates = b.reshape_to(rows, b.concat({b.dim_of(x, 0), b.dim_of(x, 1), b.ints({-1})}, 0));
  const Endpoint lengths = b.has(4) ? b.cast(b.input(4), DType::kInt32) : b.ints32({});
  Endpoints inputs{real(gates), real(b.transpose(cell.r, {1, 0}))};
  if (node.gates == 3) inputs.push_back(real(bias));
  inputs.push_back(real(first.h));
  if (node.gates == 4) inputs.push_back(real(first.c));
  inputs.push_back(lengths);
  OnnxAttrs attrs{{"reverse", attr_of(backwards)}};
  if (node.gates == 3) attrs.add("linear_before_reset", attr_of(linear));
  if (node.gates == 1) attrs.add("activation", attr_of(cell.functions[0]));
  const std::string_view op = node.gates == 4 ? "OnnxLSTM" : node.gates == 3 ? "OnnxGRU" : "OnnxRNN";
  Endpoints made = b.make_many(op, std::move(inputs), node.gates == 4 ? 3 : 2, std::move(attrs));
  for (Endpoint& e : made) e = b.cast(e, own);
  return {made[0], {made[1], node.gates == 4 ? made[2] : Endpoint{}}};
}

RecurrentRun run_direction(OnnxBlock& b, const RecurrentNode& node, const RecurrentCell& cell, Endpoint x) {
  const int64_t steps = b.dim(x, 0), in = b.dim(b.input(1), 2);
  if (steps < 1 || steps > kMostSteps)
    return b.fail(cat("a sequence of ", steps, " steps of such cells; their number must be known, and at most ",
                      kMostSteps)),
           RecurrentRun();
  RecurrentState s = first_states(b, node, cell, x);
  const Endpoint rows = with_bias(b, recurrent_product(b, b.reshape(x, Ints{-1, in}), cell.w), cell.wb);
  const Endpoint sizes = b.concat({b.ints({steps}), b.dim_of(x, 1), b.ints({-1})}, 0);
  const Endpoints inputs = b.make_many("Unpack", {b.reshape_to(rows, sizes)}, static_cast<size_t>(steps),
                                       {{"num", attr_of(steps)}, {"axis", attr_of(int64_t{0})}});
  Endpoints all;
  for (int64_t t = 0; t < steps && !b.failed(); ++t) {
    RecurrentState next = node.step(b, cell, inputs[static_cast<size_t>(t)], s);
    Endpoint out = next.h;
    if (b.has(4)) {
      const Endpoint lives = b.expand(b.make("Greater", {b.input(4), b.like(b.input(4), static_cast<double>(t))}), 1);
      out = b.select(lives, out, b.like(out, 0));
      next.h = b.select(lives, next.h, s.h);
      if (node.gates == 4) next.c = b.select(lives, next.c, s.c);
    }
    all.push_back(out);
    s = next;
  }
  return {b.make("Pack", all, {{"axis", attr_of(int64_t{0})}}), s};
}

Endpoints recurrent(OnnxBlock& b, const RecurrentNode& node) {
  const bool batch_first = b.integer("layout", 0) != 0;
  Endpoint x = b.input(0);
  if (!b.failed() && !b.shape(x).rank_known()) b.edit().known().set_shape(x, Shape::unknown_dims(3));
  if (b.rank(x) != 3) return {b.fail("wanted an input [steps, batch, size]")};
  if (batch_first) x = b.transpose(x, {1, 0, 2});
  const int64_t hidden = b.integer("hidden_size", b.dim(b.input(2), 2));
  if (hidden < 1 || b.dim(b.input(1), 2) < 0) return {b.fail("a size of the input or of the states is not known")};
  const std::string direction = b.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return {b.fail(cat("direction '", direction, "'"), "forward, reverse or bidirectional")};
  if (batch_first && b.integer("layout", 0) != 1) return {b.fail(cat("layout ", b.integer("layout", 0)), "0 or 1")};
  if (batch_first && (b.has(5) || b.has(6))) return {b.fail("first states with layout 1")};
  const size_t directions = direction == "bidirectional" ? 2 : 1;
  Endpoints all, h, c;
  for (size_t d = 0; d < directions && !b.failed(); ++d) {
    const bool back = d == 1 || direction == "reverse";
    const RecurrentCell cell = recurrent_cell(b, node, d, hidden);
    const bool plain = !b.failed() && is_plain_layer(b, node, cell, x);
    RecurrentRun run =
        plain ? run_layer(b, node, cell, x, back) : run_direction(b, node, cell, back ? reversed(b, x) : x);
    all.push_back(back && !plain ? reversed(b, run.all) : run.all);
    h.push_back(run.last.h), c.push_back(run.last.c);
  }
  if (b.failed()) return {};
  const auto packed = [&](const Endpoints& parts, int64_t axis) {
    return b.make("Pack", parts, {{"axis", attr_of(axis)}});
  };
  Endpoint y = packed(all, 1), y_h = packed(h, 0), y_c = node.gates == 4 ? packed(c, 0) : Endpoint{};
  if (batch_first) {
    y = b.transpose(y, {2, 0, 1, 3}), y_h = b.transpose(y_h, {1, 0, 2});
    if (node.gates == 4) y_c = b.transpose(y_c, {1, 0, 2});
  }
  return node.gates == 4 ? Endpoints{y, y_h, y_c} : Endpoints{y, y_h};
}

Endpoints lstm(OnnxBlock& b) { return recurrent(b, {lstm_step, 4, "Sigmoid Tanh Tanh"}); }

/// Of com.microsoft: an LSTM whose weights are bytes, [directions, size, gates], with a scale and a zero point for each
/// direction or each of its gates' rows. Reals are made of them; input and states stay what they are.
Endpoints lstm_of_bytes(OnnxBlock& b) {
  const auto reals = [&](size_t weights, size_t scale) {
    const auto real = [&](Endpoint e) { return b.cast(e, DType::kFloat); };
    const auto beside = [&](size_t input) {
      const Endpoint e = real(b.input(input));
      return b.rank(e) == 2 ? b.expand(e, 1) : b.reshape(e, {-1, 1, 1});
    };
    const Endpoint moved = b.sub(real(b.input(weights)), beside(scale + 1));
    return b.transpose(b.mul(moved, beside(scale)), {0, 2, 1});
  };
  if (b.num_inputs() != 12) return {b.fail("wanted 12 inputs")};
  const Endpoint w = reals(1, 8), r = reals(2, 10);
  if (b.failed()) return {};
  OnnxFrame inner(b.frame().all(), b.frame().body(), &b.frame(), b.frame().prefix());
  OnnxNode plain = b.node();
  plain.inputs.resize(8);
  plain.inputs[1] = "weights of the input", plain.inputs[2] = "weights of the state";
  inner.bind(plain.inputs[1], w), inner.bind(plain.inputs[2], r);
  OnnxBlock layer(inner, plain, b.opsets(), b.prefix());
  Endpoints made = lstm(layer);
  if (layer.failed()) b.stop();
  return made;
}

constexpr OnnxOp kRecurrentOps[] = {
    {"GRU", 3,
     [](OnnxBlock& b) {
       return recurrent(b, {gru_step, 3, "Sigmoid Tanh"});
     }},
    {"LSTM", 1, lstm},
    {"RNN", 1,
     [](OnnxBlock& b) {
       return recurrent(b, {rnn_step, 1, "Tanh"});
     }},
    {"com.microsoft.DynamicQuantizeLSTM", 1, lstm_of_bytes},
};

}  // namespace

std::span<const OnnxOp> onnx_recurrent_ops() { return kRecurrentOps; }

}  // namespace emplace
