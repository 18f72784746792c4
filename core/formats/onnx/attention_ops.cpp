// Part of core/formats/onnx/op_table.h: Attention and RotaryEmbedding.
#include <cmath>
#include <limits>

#include "core/base/cat.h"
#include "core/formats/onnx/body_graph.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/tensor.h"

namespace emplace {
namespace {

/// [batch, steps, heads*size] as [batch, heads, steps, size].
Endpoint by_heads(OnnxBlock& b, Endpoint x, int64_t heads) {
  if (b.rank(x) == 4) return x;
  const int64_t size = b.dim(x, 2);
  if (b.rank(x) != 3 || heads < 1 || size < 0 || size % heads != 0) return b.fail("heads that do not fit the input");
  const Endpoint sizes = b.concat({b.dim_of(x, 0), b.dim_of(x, 1), b.ints({heads, size / heads})}, 0);
  return b.transpose(b.reshape_to(x, sizes), {0, 2, 1, 3});
}

/// Each head `times` times, beside each other.
Endpoint repeated_heads(OnnxBlock& b, Endpoint x, int64_t times) {
  if (times == 1) return x;
  const Endpoint apart = b.make("Tile", {b.expand(x, 2), b.ints({1, 1, times, 1, 1})});
  const Endpoint sizes = b.concat({b.dim_of(x, 0), b.ints({b.dim(x, 1) * times}), b.dim_of(x, 2), b.dim_of(x, 3)}, 0);
  return b.reshape_to(apart, sizes);
}

Endpoint count_from(OnnxBlock& b, Endpoint x, int axis) {
  return b.make("Range", {b.int64(0), b.squeeze(b.dim_of(x, axis), {0}), b.int64(1)});
}

/// 0 where a key may be seen, -infinity elsewhere; of q's type, and broadcast to [batch, heads, queries, keys].
class AttentionMask {
 public:
  AttentionMask(OnnxBlock& b, Endpoint q, Endpoint k) : b_(b), q_(q), k_(k) {}

  void see_only(Endpoint allowed) {
    add(b_.select(allowed, b_.like(q_, 0), b_.like(q_, -std::numeric_limits<double>::infinity())));
  }
  void add(Endpoint bias) { bias_ = bias_.node == kNoNode ? bias : b_.add(bias_, bias); }

  /// attn_mask may end before the keys do: what is behind it is not seen.
  void add_given(Endpoint mask) {
    const int rank = b_.rank(mask);
    const bool flags = b_.type(mask) == DType::kBool;
    if (b_.dim(mask, rank - 1) != b_.dim(k_, 2) && rank > 0) {
      const Endpoint more = b_.sub(b_.dim_of(k_, 2), b_.dim_of(mask, rank - 1));
      const Endpoint zeros = b_.ints(Ints(2 * static_cast<size_t>(rank) - 1, 0));
      const Endpoint rows = b_.reshape(b_.concat({zeros, more}, 0), Ints{rank, 2});
      mask = b_.make(
          "PadV2",
          {mask, rows, flags ? b_.scalar(DType::kBool, 0) : b_.like(mask, -std::numeric_limits<double>::infinity())});
    }
    flags ? see_only(mask) : add(mask);
  }

  /// Query i stands at place i + offset among the keys; offset: a scalar, or [batch,1,1,1].
  Endpoint distance(Endpoint offset) {
    const Endpoint places = b_.add(b_.expand(count_from(b_, q_, 2), 1), offset);
    return b_.sub(places, count_from(b_, k_, 2));
  }

  Endpoint bias() const { return bias_; }

 private:
  OnnxBlock& b_;
  Endpoint q_, k_, bias_;
};

Endpoint key_offset(OnnxBlock& b, Endpoint q) {
  if (b.has(4)) return b.squeeze(b.dim_of(b.input(4), 2), {0});
  if (!b.has(6)) return b.int64(0);
  const Endpoint queries = b.squeeze(b.dim_of(q, 2), {0});
  return b.sub(b.reshape(b.input(6), Ints{-1, 1, 1, 1}), queries);
}

Endpoint attention_bias(OnnxBlock& b, Endpoint q, Endpoint k) {
  AttentionMask mask(b, q, k);
  if (b.has(3)) mask.add_given(b.input(3));
  const int64_t left = b.integer("left_window_size", -1), right = b.integer("right_window_size", -1);
  const bool causal = b.integer("is_causal", 0) != 0;
  if (causal || left >= 0 || right >= 0) {
    const Endpoint distance = mask.distance(key_offset(b, q));
    if (causal) mask.see_only(b.make("GreaterEqual", {distance, b.int64(0)}));
    if (left >= 0) mask.see_only(b.make("LessEqual", {distance, b.int64(left)}));
    if (right >= 0) mask.see_only(b.make("GreaterEqual", {distance, b.int64(-right)}));
  }
  if (b.has(6)) mask.see_only(b.make("Less", {count_from(b, k, 2), b.reshape(b.input(6), Ints{-1, 1, 1, 1})}));
  return mask.bias();
}

/// Along the last axis; rows that see no key are 0.
Endpoint attention_weights(OnnxBlock& b, Endpoint scores, Endpoint bias) {
  const Endpoint weights = b.math("Softmax", {scores});
  if (bias.node == kNoNode) return weights;
  const Endpoint best = b.reduce("Max", bias, {-1});
  const Endpoint none = b.math(
      "Less", {best, b.like(bias, b.type(bias) == DType::kHalf ? -65000 : std::numeric_limits<float>::lowest() / 2)});
  return b.select(none, b.like(weights, 0), weights);
}

Endpoints attention(OnnxBlock& b) {
  const bool flat = b.rank(b.input(0)) == 3;
  const int64_t key_heads = b.integer("kv_num_heads", 0);
  const Endpoint q = by_heads(b, b.input(0), b.integer("q_num_heads", 0));
  Endpoint k = by_heads(b, b.input(1), key_heads), v = by_heads(b, b.input(2), key_heads);
  if (b.has(4) != b.has(5)) return {b.fail("past keys without values, or values without keys")};
  if (b.has(4)) k = b.concat({b.input(4), k}, 2), v = b.concat({b.input(5), v}, 2);
  const Endpoint present_key = k, present_value = v;
  const int64_t heads = b.dim(q, 1), groups = b.dim(k, 1), size = b.dim(q, 3);
  if (heads < 1 || groups < 1 || heads % groups != 0 || size < 1) return {b.fail("heads or sizes that do not fit")};
  k = repeated_heads(b, k, heads / groups), v = repeated_heads(b, v, heads / groups);
  const double scale = b.number("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(size))));
  const Endpoint root = b.like(q, std::sqrt(scale));
  Endpoint scores = b.math("BatchMatMulV2", {b.mul(q, root), b.mul(k, root)}, {{"adj_y", attr_of(true)}});
  if (const float cap = b.number("softcap", 0); cap > 0) {
    const Endpoint most = b.like(scores, cap);
    scores = b.mul(b.math("Tanh", {b.div(scores, most)}), most);
  }
  const Endpoint capped = scores, bias = attention_bias(b, q, k);
  if (bias.node != kNoNode) scores = b.add(scores, bias);
  const Endpoint biased = scores;
  const std::optional<DType> precision = onnx_dtype(b.integer("softmax_precision", 0));
  if (precision) scores = b.cast(scores, *precision);
  const Endpoint weights = b.cast(attention_weights(b, scores, bias), b.type(q));
  Endpoint y = b.math("BatchMatMulV2", {weights, v});
  if (flat) {
    const Endpoint sizes = b.concat({b.dim_of(q, 0), b.dim_of(q, 2), b.ints({heads * b.dim(v, 3)})}, 0);
    y = b.dim(v, 3) < 0 ? b.fail("a size that is not known") : b.reshape_to(b.transpose(y, {0, 2, 1, 3}), sizes);
  }
  const Endpoint shown[] = {capped, b.number("softcap", 0) > 0 ? capped : biased, biased, weights};
  const int64_t mode = b.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return {b.fail(cat("qk_matmul_output_mode ", mode))};
  return {y, present_key, present_value, shown[mode]};
}

/// Pairs of a head's numbers, turned by the angles of their place.
Endpoints rotary_embedding(OnnxBlock& b) {
  Endpoint x = b.input(0);
  const bool heads_first = b.rank(x) == 4;
  const Endpoint own_shape = b.shape_of(x);
  const int64_t heads = b.integer("num_heads", 0);
  if (heads_first) x = b.transpose(x, {0, 2, 1, 3});
  if (!heads_first) {
    const int64_t size = b.dim(x, 2);
    if (b.rank(x) != 3 || heads < 1 || size < 0 || size % heads != 0)
      return {b.fail("heads that do not fit the input")};
    x = b.reshape_to(x, b.concat({b.dim_of(x, 0), b.dim_of(x, 1), b.ints({heads, size / heads})}, 0));
  }
  const int64_t size = b.dim(x, 3), given = b.integer("rotary_embedding_dim", 0), turned = given == 0 ? size : given;
  if (size < 0 || turned % 2 != 0 || turned > size) return {b.fail("a rotated size that does not fit")};
  const auto angles = [&](size_t input) {
    const Endpoint cache = b.input(input);
    return b.expand(b.has(3) ? b.make("GatherV2", {cache, b.input(3), b.int32(0)}) : cache, 2);
  };
  const Endpoint cos = angles(1), sin = angles(2), pairs = b.slice(x, 3, 0, turned);
  const bool interleaved = b.integer("interleaved", 0) != 0;
  const Endpoint first = interleaved ? b.slice(pairs, 3, 0, turned, 2) : b.slice(pairs, 3, 0, turned / 2);
  const Endpoint second = interleaved ? b.slice(pairs, 3, 1, turned, 2) : b.slice(pairs, 3, turned / 2, turned);
  const Endpoint real = b.sub(b.mul(cos, first), b.mul(sin, second)),
                 imaginary = b.add(b.mul(sin, first), b.mul(cos, second));
  Endpoint y = interleaved
                   ? b.reshape_to(b.make("Pack", {real, imaginary}, {{"axis", attr_of(int64_t{4})}}), b.shape_of(pairs))
                   : b.concat({real, imaginary}, 3);
  if (turned < size) y = b.concat({y, b.slice(x, 3, turned, size)}, 3);
  return {heads_first ? b.transpose(y, {0, 2, 1, 3}) : b.reshape_to(y, own_shape)};
}

/// What the graph `name` of the node, if there is one, makes of x.
Endpoint modified(OnnxBlock& b, Endpoint x, const char* name) {
  if (!b.has_attribute(name)) return x;
  const std::optional<OnnxGraph> graph = graph_attribute(b, name);
  if (!graph || graph->inputs.size() != 1 || graph->outputs.size() != 1)
    return b.fail(cat("a graph '", name, "' without one input and one output"));
  const std::vector<OnnxValue> made = inline_onnx_graph(b, *graph, {{.tensor = x}}, name);
  return b.failed() ? Endpoint{} : made[0].tensor;
}

Endpoints flex_attention(OnnxBlock& b) {
  const Endpoint q = b.input(0);
  Endpoint k = b.input(1), v = b.input(2);
  if (b.rank(q) != 4 || b.rank(k) != 4 || b.rank(v) != 4) return {b.fail("inputs of another rank than 4")};
  const int64_t heads = b.dim(q, 1), groups = b.dim(k, 1), size = b.dim(q, 3);
  if (heads < 1 || groups < 1 || heads % groups != 0 || size < 1) return {b.fail("heads or sizes that do not fit")};
  const DType own = b.type(q), usual = own == DType::kDouble ? own : DType::kFloat;
  const DType precision = onnx_dtype(b.integer("softmax_precision", 0)).value_or(usual);
  k = repeated_heads(b, k, heads / groups), v = repeated_heads(b, v, heads / groups);
  const double scale = b.number("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(size))));
  Endpoint scores = b.math("BatchMatMulV2", {b.cast(q, precision), b.cast(k, precision)}, {{"adj_y", attr_of(true)}});
  scores = modified(b, b.mul(scores, b.like(scores, scale)), "score_mod");
  const Endpoint weights = modified(b, b.math("Softmax", {scores}), "prob_mod");
  return {b.cast(b.math("BatchMatMulV2", {weights, b.cast(v, precision)}), own)};
}

constexpr OnnxOp kAttentionOps[] = {{"Attention", 23, attention},
                                    {"ai.onnx.preview.FlexAttention", 1, flex_attention},
                                    {"RotaryEmbedding", 23, rotary_embedding}};

}  // namespace

std::span<const OnnxOp> onnx_attention_ops() { return kAttentionOps; }

}  // namespace emplace
