// Part of core/formats/onnx/op_table.h: ops of ai.onnx.ml that are plain arithmetic on features [N,C].
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/learning.h"
#include "core/formats/onnx/op_table.h"
#include "core/formats/onnx/products.h"

namespace emplace {
namespace {

Endpoints array_feature_extractor(OnnxBlock& b) {
  const Endpoint x = b.input(0), at = b.reshape(b.input(1), {-1});
  if (b.rank(x) == 1) return {b.expand(b.make("GatherV2", {x, at, b.int32(0)}), 0)};
  return {b.make("GatherV2", {x, at, b.int32(b.rank(x) - 1)})};
}

Endpoints binarizer(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  return {b.cast(b.make("Greater", {x, b.like(x, b.number("threshold", 0))}), b.type(x))};
}

/// A number for each feature, or one for all.
bool fits_features(OnnxBlock& b, Endpoint numbers, Endpoint x, std::string_view what) {
  const int64_t given = b.dim(numbers, 0), features = b.dim(x, b.rank(x) - 1);
  if (given == 1 || features < 0 || given == features) return true;
  b.fail(cat(given, " numbers in '", what, "' for ", features, " features"));
  return false;
}

Endpoints scaler(OnnxBlock& b) {
  Endpoint x = b.cast(b.input(0), DType::kFloat);
  const std::optional<Endpoint> offset = onnx_float_list(b, "offset"), scale = onnx_float_list(b, "scale");
  if (offset && fits_features(b, *offset, x, "offset")) x = b.sub(x, *offset);
  if (scale && fits_features(b, *scale, x, "scale")) x = b.mul(x, *scale);
  return {x};
}

/// Rows by their greatest number, their sum or their length; where that is 0 they stay.
Endpoint normalised(OnnxBlock& b, Endpoint x, const std::string& norm) {
  const Ints last{-1};
  Endpoint by;
  if (norm == "MAX")
    by = b.reduce("Max", x, last);
  else if (norm == "L1")
    by = b.reduce("Sum", b.make("Abs", {x}), last);
  else if (norm == "L2")
    by = b.make("Sqrt", {b.reduce("Sum", b.make("Square", {x}), last)});
  else
    return b.fail(cat("norm '", norm, "'"), "MAX, L1 or L2");
  return b.select(b.make("Equal", {by, b.like(by, 0)}), x, b.make("RealDiv", {x, by}));
}

Endpoints normalizer(OnnxBlock& b) { return {normalised(b, b.cast(b.input(0), DType::kFloat), b.text("norm", "MAX"))}; }

/// Values that are missing, of floats those that are NaN if replaced_value_float is, become the feature's number, or
/// the first one if there is not one for each feature.
Endpoints imputer(OnnxBlock& b) {
  const Endpoint x = b.input(0);
  const bool whole = is_integer(b.type(x));
  const std::optional<Ints> numbers = b.integers("imputed_value_int64s");
  std::optional<Endpoint> by = whole ? std::nullopt : onnx_float_list(b, "imputed_value_floats");
  if (whole && numbers) by = b.ints(*numbers);
  if (!by || b.dim(*by, 0) < 1) return {b.fail(cat("no ", whole ? "imputed_value_int64s" : "imputed_value_floats"))};
  const int64_t features = b.dim(x, b.rank(x) - 1);
  if (features >= 0 && b.dim(*by, 0) != features) by = b.slice(*by, 0, 0, 1);
  const float missing = b.number("replaced_value_float", 0);
  Endpoint lacks;
  if (whole)
    lacks = b.make("Equal", {x, b.like(x, static_cast<double>(b.integer("replaced_value_int64", 0)))});
  else
    lacks = missing != missing ? b.make("IsNan", {x}) : b.make("Equal", {x, b.like(x, missing)});
  return {b.select(lacks, b.cast(*by, b.type(x)), x)};
}

/// Columns of all inputs beside each other, as many of each as the node says; what an input lacks is 0.
Endpoints feature_vectorizer(OnnxBlock& b) {
  const std::optional<Ints> sizes = b.integers("inputdimensions");
  if (!sizes || sizes->size() != b.num_inputs()) return {b.fail("wanted a size in 'inputdimensions' for each input")};
  Endpoints parts;
  for (size_t i = 0; i < b.num_inputs() && !b.failed(); ++i) {
    const int64_t size = (*sizes)[i];
    if (size < 0 || size > INT32_MAX) return {b.fail(cat("a size of ", size, " in 'inputdimensions'"))};
    Endpoint x = b.cast(b.input(i), DType::kFloat);
    if (b.rank(x) == 1) x = b.expand(x, 0);
    if (b.rank(x) != 2) return {b.fail(cat("input ", i, " is no matrix"))};
    const int64_t there = b.dim(x, 1);
    if (there != size) x = b.slice(x, 1, 0, size);
    if (there >= 0 && there < size) x = b.make("Pad", {x, b.reshape(b.ints32({0, 0, 0, size - there}), {2, 2})});
    parts.push_back(x);
  }
  return {b.failed() || parts.empty() ? b.fail("no inputs") : b.concat(parts, 1)};
}

/// [N,rows] of coefficients [rows,C] and one intercept for each row.
Endpoint linear_scores(OnnxBlock& b, int64_t rows) {
  const std::optional<Endpoint> coefficients = onnx_float_list(b, "coefficients"),
                                more = onnx_float_list(b, "intercepts");
  if (!coefficients || rows < 1) return b.fail("no coefficients");
  const int64_t size = b.dim(*coefficients, 0);
  if (size % rows != 0) return b.fail(cat(size, " coefficients for ", rows, " rows"));
  if (more && b.dim(*more, 0) != rows && b.dim(*more, 0) != 1)
    return b.fail(cat(b.dim(*more, 0), " intercepts for ", rows, " rows"));
  const Endpoint x = onnx_features(b, size / rows);
  Endpoint scores = onnx_product(b, x, b.transpose(b.reshape(*coefficients, {rows, size / rows}), {1, 0}));
  return more && b.dim(*more, 0) > 0 ? b.add(scores, *more) : scores;
}

Endpoints linear_regressor(OnnxBlock& b) {
  const int64_t targets = b.integer("targets", 1);
  return {onnx_transformed_target(b, linear_scores(b, targets), targets)};
}

/// Two classes may share one row of coefficients, whose sign decides. Rows are those of the intercepts, of which there
/// may be fewer than labels.
Endpoints linear_classifier(OnnxBlock& b) {
  const std::optional<Endpoint> labels = onnx_class_labels(b, "classlabels_ints", "classlabels_strings");
  const std::optional<std::vector<float>> intercepts = onnx_floats(b, "intercepts");
  if (!labels) return {Endpoint{}};
  const int64_t classes = b.dim(*labels, 0);
  const int64_t rows = intercepts && !intercepts->empty() ? static_cast<int64_t>(intercepts->size()) : classes;
  if (rows > classes || (rows == 1 && classes != 2))
    return {b.fail(cat(rows, " intercepts for ", classes, " classes"))};
  const Endpoint scores = linear_scores(b, rows);
  if (rows == 1) {
    const Endpoint positive = b.make("Greater", {scores, b.like(scores, 0)});
    const Endpoint label = onnx_labels_at(b, *labels, b.squeeze(b.cast(positive, DType::kInt32), {1}));
    const Endpoint both = onnx_scores_of_two(b, scores);
    return {label, b.text("post_transform", "NONE") == "PROBIT" ? b.concat({both, both}, 1) : both};
  }
  return {onnx_labels_at(b, *labels, onnx_best_column(b, scores)), onnx_transformed_scores(b, scores)};
}

constexpr OnnxOp kLearningOps[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, array_feature_extractor},
    {"ai.onnx.ml.Binarizer", 1, binarizer, true},
    {"ai.onnx.ml.FeatureVectorizer", 1, feature_vectorizer},
    {"ai.onnx.ml.Imputer", 1, imputer},
    {"ai.onnx.ml.LinearClassifier", 1, linear_classifier},
    {"ai.onnx.ml.LinearRegressor", 1, linear_regressor},
    {"ai.onnx.ml.Normalizer", 1, normalizer},
    {"ai.onnx.ml.Scaler", 1, scaler},
};

}  // namespace

std::span<const OnnxOp> onnx_learning_ops() { return kLearningOps; }

}  // namespace emplace
