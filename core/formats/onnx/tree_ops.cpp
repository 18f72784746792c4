// Part of core/formats/onnx/op_table.h: tree ensembles of ai.onnx.ml, as scikit-learn's and others' exporters write
// them.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/forest.h"
#include "core/formats/onnx/learning.h"
#include "core/formats/onnx/op_table.h"

namespace emplace {
namespace {

Endpoint doubles(OnnxBlock& b, const std::vector<double>& v, Endpoint like) {
  return b.cast(b.constant(Tensor::of<double>(Shape{static_cast<int64_t>(v.size())}, v)), b.type(like));
}

Endpoints tree_ensemble_regressor(OnnxBlock& b) {
  const auto forest = read_onnx_forest(b, "target", b.integer("n_targets", 1));
  if (!forest) return {Endpoint{}};
  Endpoint y = walk_onnx_forest(b, *forest, b.text("aggregate_function", "SUM"));
  const auto base = onnx_forest_numbers(b, "base_values");
  if (base && !base->empty()) {
    if (static_cast<int64_t>(base->size()) != forest->targets) return {b.fail(cat(base->size(), " base_values"))};
    y = b.add(y, doubles(b, *base, y));
  }
  return {b.cast(onnx_transformed_target(b, y, forest->targets), DType::kFloat)};
}

/// The class of each row of places.
Endpoint class_labels(OnnxBlock& b, Endpoint places) {
  const auto labels = onnx_class_labels(b, "classlabels_int64s", "classlabels_strings");
  return labels ? onnx_labels_at(b, *labels, places) : Endpoint{};
}

int64_t count_of_labels(OnnxBlock& b) {
  if (const std::optional<Ints> numbers = b.integers("classlabels_int64s"))
    return static_cast<int64_t>(numbers->size());
  const OnnxAttribute* a = b.attribute("classlabels_strings", OnnxAttributeType::kStrings);
  return a ? static_cast<int64_t>(a->strings.size()) : 0;
}

/// A score that says both classes. Weights that are all positive are probabilities, others have 0 between the classes.
Endpoint both_of(OnnxBlock& b, const OnnxWeightedForest& forest, Endpoint score) {
  const std::string how = b.text("post_transform", "NONE");
  if (how == "PROBIT") return onnx_transformed_scores(b, score);
  if (forest.all_positive) return b.concat({b.sub(b.like(score, 1), score), score}, 1);
  const Endpoint both = b.concat({b.make("Neg", {score}), score}, 1);
  return how == "LOGISTIC" ? b.make("Sigmoid", {both}) : both;
}

/// Two classes: ONNX says little of them, so this is what ONNX Runtime does. Leaves may weigh only one class; the
/// second one's score, or the only one, decides.
Endpoints of_two_classes(OnnxBlock& b, const OnnxWeightedForest& forest, Endpoint scores,
                         const std::vector<double>& base) {
  Endpoint first = b.slice(scores, 1, 0, 1), second = b.slice(scores, 1, 1, 2);
  const auto number = [&](size_t i) { return b.like(first, base[i]); };
  const bool one_weighed = forest.used[0] != forest.used[1];
  if (base.size() == 2 && one_weighed) return {b.fail("two base_values for leaves of one class")};
  if (base.size() == 1 && forest.used[0]) first = b.add(first, number(0));
  if (base.size() == 2) second = b.add(first, number(1)), first = b.make("Neg", {second});
  const bool two = forest.used[1] || base.size() == 2;
  const Endpoint decides = two ? second : first;
  const Endpoint positive = b.make("Greater", {decides, b.like(decides, one_weighed && forest.all_positive ? 0.5 : 0)});
  const Endpoint label = class_labels(b, b.squeeze(b.cast(positive, DType::kInt32), {1}));
  return {label, two ? onnx_transformed_target(b, b.concat({first, second}, 1), 2) : both_of(b, forest, first)};
}

Endpoints tree_ensemble_classifier(OnnxBlock& b) {
  const auto forest = read_onnx_forest(b, "class", count_of_labels(b));
  if (!forest) return {Endpoint{}};
  Endpoint scores = walk_onnx_forest(b, *forest, "SUM");
  const std::vector<double> base = onnx_forest_numbers(b, "base_values").value_or(std::vector<double>());
  const auto given = static_cast<int64_t>(base.size());
  if (given > 0 && given != forest->targets && !(given == 1 && forest->targets == 2))
    return {b.fail(cat(given, " base_values for ", forest->targets, " classes"))};
  Endpoints out;
  if (forest->targets == 2) {
    out = of_two_classes(b, *forest, scores, base);
  } else {
    if (given > 0) scores = b.add(scores, doubles(b, base, scores));
    out = {class_labels(b, onnx_best_column(b, scores)), onnx_transformed_target(b, scores, forest->targets)};
  }
  out[1] = b.cast(out[1], DType::kFloat);
  return out;
}

Endpoints tree_ensemble(OnnxBlock& b) {
  static constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const int64_t how = b.integer("aggregate_function", 1), after = b.integer("post_transform", 0);
  if (how < 0 || how > 3) return {b.fail(cat("aggregate_function ", how))};
  const auto forest = read_onnx_split_forest(b, b.integer("n_targets", 1));
  if (!forest) return {Endpoint{}};
  const Endpoint y = walk_onnx_forest(b, *forest, kAggregates[how]);
  const bool single = forest->targets == 1 && after != 4;  // as with the ops of before
  return {b.cast(single ? y : onnx_transformed_scores(b, y, after), b.type(b.input(0)))};
}

constexpr OnnxOp kTreeOps[] = {
    {"ai.onnx.ml.TreeEnsemble", 5, tree_ensemble},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, tree_ensemble_classifier},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, tree_ensemble_regressor},
};

}  // namespace

std::span<const OnnxOp> onnx_tree_ops() { return kTreeOps; }

}  // namespace emplace
