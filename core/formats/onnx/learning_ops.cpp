// Part of core/formats/onnx/op_table.h: ops of ai.onnx.ml that are plain arithmetic on features [N,C].

#include "core/base/cat.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/products.h"

namespace emplace {
namespace {

/// A list of floats as a vector; nothing if the node has none.
std::optional<Endpoint> float_list(OnnxBlock& b, std::string_view name) {
  const OnnxAttribute* a = b.attribute(name, OnnxAttributeType::kFloats);
  if (!a) return std::nullopt;
  const std::vector<float> values(a->floats.begin(), a->floats.end());
  return b.constant(Tensor::of<float>(Shape{static_cast<int64_t>(values.size())}, values));
}

Endpoints array_feature_extractor(OnnxBlock& b) {
  const Endpoint x = b.input(0), at = b.reshape(b.input(1), {-1});
  if (b.rank(x) == 1) return {b.expand(b.make("GatherV2", {x, at, b.int32(0)}), 0)};
  return {b.make("GatherV2", {x, at, b.int32(b.rank(x) - 1)})};
}

Endpoints binarizer(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  return {b.cast(b.make("Greater", {x, b.like(x, b.number("threshold", 0))}), b.type(x))};
}

Endpoints scaler(OnnxBlock& b) {
  Endpoint x = b.cast(b.input(0), DType::kFloat);
  if (const auto offset = float_list(b, "offset")) x = b.sub(x, *offset);
  if (const auto scale = float_list(b, "scale")) x = b.mul(x, *scale);
  return {x};
}

/// Rows by their largest, their sum or their length; rows of zeros stay.
Endpoint normalised(OnnxBlock& b, Endpoint x, const std::string& norm) {
  const Ints last{-1};
  Endpoint by;
  if (norm == "MAX")
    by = b.reduce("Max", b.make("Abs", {x}), last);
  else if (norm == "L1")
    by = b.reduce("Sum", b.make("Abs", {x}), last);
  else if (norm == "L2")
    by = b.make("Sqrt", {b.reduce("Sum", b.make("Square", {x}), last)});
  else
    return b.fail(cat("norm '", norm, "'"), "MAX, L1 or L2");
  return b.make("DivNoNan", {x, by});
}

Endpoints normalizer(OnnxBlock& b) { return {normalised(b, b.cast(b.input(0), DType::kFloat), b.text("norm", "MAX"))}; }

Endpoint transformed_scores(OnnxBlock& b, Endpoint scores) {
  const std::string how = b.text("post_transform", "NONE");
  if (how == "NONE") return scores;
  if (how == "LOGISTIC") return b.make("Sigmoid", {scores});
  if (how == "SOFTMAX") return b.make("Softmax", {scores});
  return b.fail(cat("post_transform '", how, "'"), "NONE, LOGISTIC or SOFTMAX");
}

/// [N,rows] of coefficients [rows,C] and one intercept for each row.
Endpoint linear_scores(OnnxBlock& b, int64_t rows) {
  const std::optional<Endpoint> coefficients = float_list(b, "coefficients"), more = float_list(b, "intercepts");
  if (!coefficients || rows < 1) return b.fail("no coefficients");
  const int64_t size = b.dim(*coefficients, 0);
  if (size % rows != 0) return b.fail(cat(size, " coefficients for ", rows, " rows"));
  const Endpoint x = b.cast(b.input(0), DType::kFloat);
  Endpoint scores = onnx_product(b, b.reshape(x, {-1, size / rows}),
                                 b.transpose(b.reshape(*coefficients, {rows, size / rows}), {1, 0}));
  return more ? b.add(scores, *more) : scores;
}

Endpoints linear_regressor(OnnxBlock& b) { return {transformed_scores(b, linear_scores(b, b.integer("targets", 1)))}; }

/// Labels are numbers; two of them may share one row of coefficients, whose sign decides.
Endpoints linear_classifier(OnnxBlock& b) {
  const std::optional<Ints> labels = b.integers("classlabels_ints");
  if (!labels || labels->size() < 2) return {b.fail("no classlabels_ints of two classes or more")};
  const auto classes = static_cast<int64_t>(labels->size());
  const OnnxAttribute* intercepts = b.attribute("intercepts", OnnxAttributeType::kFloats);
  const bool one_row = classes == 2 && intercepts && intercepts->floats.size() == 1;
  Endpoint scores = linear_scores(b, one_row ? 1 : classes);
  if (one_row) scores = b.concat({b.make("Neg", {scores}), scores}, 1);
  const Endpoint best = b.make("ArgMax", {scores, b.int32(1)}, {{"output_type", attr_of(DType::kInt64)}});
  return {b.make("GatherV2", {b.ints(*labels), best, b.int32(0)}), transformed_scores(b, scores)};
}

constexpr OnnxOp kLearningOps[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, array_feature_extractor},
    {"ai.onnx.ml.Binarizer", 1, binarizer, true},
    {"ai.onnx.ml.LinearClassifier", 1, linear_classifier},
    {"ai.onnx.ml.LinearRegressor", 1, linear_regressor},
    {"ai.onnx.ml.Normalizer", 1, normalizer},
    {"ai.onnx.ml.Scaler", 1, scaler},
};

}  // namespace

std::span<const OnnxOp> onnx_learning_ops() { return kLearningOps; }

}  // namespace emplace
