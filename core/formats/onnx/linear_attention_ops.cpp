// Part of core/formats/onnx/op_table.h: LinearAttention: a state of a matrix for each head, which every step changes
// and reads.
#include <cmath>

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/sequence_list.h"

namespace emplace {
namespace {

struct LinearHeads {
  int64_t query = 0, key = 0;  // how many
  int64_t key_size = 0, value_size = 0;
  double scale = 1;
};

/// What each step has of its own, float32, steps first.
struct LinearSteps {
  Endpoint query;  // [T,B,H,G,K]: G heads of the query share one of the keys
  Endpoint key;    // [T,B,H,1,K]
  Endpoint value;  // [T,B,H,1,V]
  Endpoint decay;  // [T,B,H,K or 1,1], or kNoNode
  Endpoint rate;   // [T,B,H or 1,1,1], or kNoNode
};

/// [B,T,heads*size] as [T,B,heads,...].
Endpoint steps_of(OnnxBlock& b, size_t input, IntList rest) {
  const Endpoint x = b.transpose(b.cast(b.input(input), DType::kFloat), {1, 0, 2});
  return b.reshape_to(x, b.concat({b.dim_of(x, 0), b.dim_of(x, 1), b.ints(rest)}, 0));
}

std::optional<LinearSteps> linear_steps(OnnxBlock& b, const LinearHeads& h) {
  LinearSteps s;
  const std::string rule = b.text("update_rule", "gated_delta");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return b.fail(cat("update_rule '", rule, "'"), "linear, gated, delta or gated_delta"), std::nullopt;
  if (b.has(4) != rule.starts_with("gated") || b.has(5) != rule.ends_with("delta"))
    return b.fail(cat("inputs that update_rule '", rule, "' has no use for, or lacks")), std::nullopt;
  s.query = steps_of(b, 0, {h.key, h.query / h.key, h.key_size});
  s.key = steps_of(b, 1, {h.key, 1, h.key_size});
  s.value = steps_of(b, 2, {h.key, 1, h.value_size});
  if (b.has(4)) {
    const int64_t given = b.dim(b.input(4), 2);
    if (given != h.key && given != h.key * h.key_size) return b.fail(cat("a decay of ", given)), std::nullopt;
    s.decay = b.make("Exp", {steps_of(b, 4, {h.key, given / h.key, 1})});
  }
  if (b.has(5)) {
    const int64_t given = b.dim(b.input(5), 2);
    if (given != h.key && given != 1) return b.fail(cat("a beta of ", given)), std::nullopt;
    s.rate = steps_of(b, 5, {given, 1, 1});
  }
  return s;
}

/// One step from a state [B,H,K,V]: the next, and what is read, [B,H*G*V].
Endpoints linear_step(OnnxBlock& b, const LinearHeads& h, const LinearSteps& s, Endpoint state) {
  Endpoint value = s.value;
  if (s.decay.node != kNoNode) state = b.mul(state, s.decay);
  if (s.rate.node != kNoNode) value = b.mul(s.rate, b.sub(value, b.make("BatchMatMulV2", {s.key, state})));
  state = b.add(state, b.make("BatchMatMulV2", {s.key, value}, {{"adj_x", attr_of(true)}}));
  const Endpoint read = b.mul(b.make("BatchMatMulV2", {s.query, state}), b.like(state, h.scale));
  return {state, b.reshape(read, {-1, h.query * h.value_size})};
}

/// All steps, one after the other: the last state, and [T,B,H*G*V].
Endpoints linear_loop(OnnxBlock& b, const LinearHeads& h, const LinearSteps& s, Endpoint state) {
  const Endpoint count = b.squeeze(b.dim_of(s.query, 0), {0});
  const Endpoints made =
      onnx_stepped(b, count, {state, onnx_list(b, OnnxSequence(), DType::kFloat)},
                   [&](OnnxBlock& in, Endpoint i, const Endpoints& states, const OnnxOutside& outside) {
                     const auto at = [&](Endpoint all) {
                       return all.node == kNoNode ? all : in.make("GatherV2", {outside(all), i, in.int32(0)});
                     };
                     const LinearSteps own{at(s.query), at(s.key), at(s.value), at(s.decay), at(s.rate)};
                     const Endpoints next = linear_step(in, h, own, states[0]);
                     return Endpoints{next[0], onnx_pushed(in, states[1], next[1])};
                   });
  if (b.failed()) return {};
  const Shape row{-1, h.query * h.value_size};
  const Endpoint all =
      b.make("TensorListStack", {made[1], onnx_element_shape(b, row)}, {{"element_dtype", attr_of(DType::kFloat)}});
  return {made[0], all};
}

Endpoints linear_attention(OnnxBlock& b) {
  LinearHeads h{b.integer("q_num_heads", 0), b.integer("kv_num_heads", 0)};
  const int64_t query = b.dim(b.input(0), 2), value = b.dim(b.input(2), 2);
  if (h.key < 1 || h.query < h.key || h.query % h.key != 0 || query < 1 || query % h.query != 0 || value < 1 ||
      value % h.key != 0)
    return {b.fail("heads that do not fit the inputs, or sizes that are not known")};
  h.key_size = query / h.query, h.value_size = value / h.key;
  const float scale = b.number("scale", 0);
  h.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(h.key_size));
  const std::optional<LinearSteps> steps = linear_steps(b, h);
  if (!steps || b.failed()) return {Endpoint{}};
  const Endpoint sizes = b.concat({b.dim_of(b.input(0), 0), b.ints({h.key, h.key_size, h.value_size})}, 0);
  const Endpoint state =
      b.has(3) ? b.cast(b.input(3), DType::kFloat) : b.make("Fill", {sizes, b.scalar(DType::kFloat, 0)});
  const Endpoints made = linear_loop(b, h, *steps, state);
  if (b.failed()) return {Endpoint{}};
  const Endpoint y = b.transpose(made[1], {1, 0, 2});
  return {b.cast(y, b.type(b.input(0))), b.cast(made[0], b.type(b.input(b.has(3) ? 3 : 0)))};
}

constexpr OnnxOp kLinearAttentionOps[] = {{"LinearAttention", 27, linear_attention}};

}  // namespace

std::span<const OnnxOp> onnx_linear_attention_ops() { return kLinearAttentionOps; }

}  // namespace emplace
