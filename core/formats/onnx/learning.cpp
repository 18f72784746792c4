#include "core/formats/onnx/learning.h"

#include "core/base/cat.h"

namespace emplace {
namespace {

/// A score of 0 stays 0, the others are a softmax.
Endpoint softmax_of_others(OnnxBlock& b, Endpoint scores) {
  const Endpoint zero = b.like(scores, 0), counts = b.make("Greater", {b.make("Abs", {scores}), b.like(scores, 1e-7)});
  const Endpoint high = b.reduce("Max", scores, Ints{-1});
  const Endpoint powers = b.select(counts, b.make("Exp", {b.sub(scores, high)}), zero);
  return b.make("DivNoNan", {powers, b.reduce("Sum", powers, Ints{-1})});
}

Endpoint transformed_by(OnnxBlock& b, Endpoint scores, const std::string& how) {
  if (how == "NONE") return scores;
  if (how == "LOGISTIC") return b.make("Sigmoid", {scores});
  if (how == "SOFTMAX") return b.make("Softmax", {scores});
  if (how == "SOFTMAX_ZERO") return softmax_of_others(b, scores);
  if (how == "PROBIT") return b.make("Ndtri", {scores});
  return b.fail(cat("post_transform '", how, "'"), "NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT");
}

}  // namespace

std::optional<std::vector<float>> onnx_floats(OnnxBlock& b, std::string_view name) {
  const OnnxAttribute* a = b.attribute(name, OnnxAttributeType::kFloats);
  return a ? std::optional(std::vector<float>(a->floats.begin(), a->floats.end())) : std::nullopt;
}

std::optional<Endpoint> onnx_float_list(OnnxBlock& b, std::string_view name) {
  const std::optional<std::vector<float>> values = onnx_floats(b, name);
  if (!values) return std::nullopt;
  return b.constant(Tensor::of<float>(Shape{static_cast<int64_t>(values->size())}, *values));
}

std::optional<Endpoint> onnx_string_list(OnnxBlock& b, std::string_view name) {
  const OnnxAttribute* a = b.attribute(name, OnnxAttributeType::kStrings);
  if (!a) return std::nullopt;
  const std::vector<std::string> texts(a->strings.begin(), a->strings.end());
  return b.constant(Tensor::of<std::string>(Shape{static_cast<int64_t>(texts.size())}, texts));
}

Endpoint onnx_features(OnnxBlock& b, int64_t count) {
  const Endpoint x = b.cast(b.input(0), DType::kFloat);
  const Shape& shape = b.shape(x);
  const int64_t there = shape.rank_known() && shape.rank() > 0 ? shape.dim(shape.rank() - 1) : -1;
  if (count < 1 || (there >= 0 && there != count))
    return b.fail(cat("coefficients of ", count, " features; x has ", there));
  return shape.rank_known() && shape.rank() == 2 ? x : b.reshape(x, {-1, count});
}

std::optional<Endpoint> onnx_class_labels(OnnxBlock& b, std::string_view ints, std::string_view strings) {
  if (const std::optional<Ints> numbers = b.integers(ints); numbers && !numbers->empty()) return b.ints(*numbers);
  if (const std::optional<Endpoint> texts = onnx_string_list(b, strings); texts && b.dim(*texts, 0) > 0) return texts;
  b.fail(cat("neither ", ints, " nor ", strings));
  return std::nullopt;
}

Endpoint onnx_labels_at(OnnxBlock& b, Endpoint labels, Endpoint places) {
  return b.make("GatherV2", {labels, places, b.int32(0)});
}

Endpoint onnx_best_column(OnnxBlock& b, Endpoint scores) {
  return b.make("ArgMax", {scores, b.int32(1)}, {{"output_type", attr_of(DType::kInt64)}});
}

Endpoint onnx_transformed_scores(OnnxBlock& b, Endpoint scores) {
  return transformed_by(b, scores, b.text("post_transform", "NONE"));
}

Endpoint onnx_transformed_scores(OnnxBlock& b, Endpoint scores, int64_t how) {
  static constexpr const char* kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const bool known = how >= 0 && how < static_cast<int64_t>(std::size(kNames));
  return known ? transformed_by(b, scores, kNames[how]) : b.fail(cat("post_transform ", how));
}

Endpoint onnx_transformed_target(OnnxBlock& b, Endpoint scores, int64_t count) {
  return count == 1 && b.text("post_transform", "NONE") != "PROBIT" ? scores : onnx_transformed_scores(b, scores);
}

Endpoint onnx_scores_of_two(OnnxBlock& b, Endpoint score) {
  const std::string how = b.text("post_transform", "NONE");
  if (how == "PROBIT") return onnx_transformed_scores(b, score);
  const Endpoint second = how == "LOGISTIC" ? b.make("Sigmoid", {score}) : score;
  return b.concat({b.sub(b.like(score, 1), second), second}, 1);
}

}  // namespace emplace
