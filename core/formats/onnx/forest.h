/// OnnxForest: the trees of ai.onnx.ml's TreeEnsembleRegressor and TreeEnsembleClassifier as tables of numbers, and the
/// nodes that walk through all trees at once, a level at a time.
#pragma once

#include <optional>
#include <vector>

#include "core/formats/onnx/block.h"

namespace emplace {

struct OnnxForest {
  std::vector<int32_t> roots;     // by tree
  std::vector<int32_t> features;  // by node, of all trees; 0 in a leaf
  std::vector<double> splits;     // what a feature is compared with
  std::vector<uint8_t> modes;     // a place in kOnnxBranches; in a leaf kOnnxLeaf
  std::vector<uint8_t> missing;   // a feature that is NaN leads where the comparison is true
  std::vector<int32_t> next;      // two for each node: where a false comparison leads, and a true one; a leaf: itself
  int depth = 0;                  // comparisons on the longest way
  bool wide = false;              // splits and weights are double

  size_t size() const { return features.size(); }
};

inline constexpr std::pair<const char*, const char*> kOnnxBranches[] = {
    {"BRANCH_LEQ", "LessEqual"}, {"BRANCH_LT", "Less"},  {"BRANCH_GTE", "GreaterEqual"},
    {"BRANCH_GT", "Greater"},    {"BRANCH_EQ", "Equal"}, {"BRANCH_NEQ", "NotEqual"}};
inline constexpr int kDeepestTree = 1000;
inline constexpr size_t kMostForestWeights = size_t{1} << 26;
inline constexpr uint8_t kOnnxLeaf = std::size(kOnnxBranches);

/// A forest and what its leaves add to each of `targets` results.
struct OnnxWeightedForest {
  OnnxForest trees;
  int64_t targets = 0;
  std::vector<double> weights;  // [node, target]
  std::vector<uint8_t> given;   // is there such a weight?
  std::vector<uint8_t> used;    // by target: does any leaf have one?
  bool all_positive = true;     // weights
};

/// From attributes nodes_*, and `prefix`_treeids and the like ("target", "class"). Nothing, and a problem told: they do
/// not fit together, or lead in a circle.
std::optional<OnnxWeightedForest> read_onnx_forest(OnnxBlock& b, std::string_view prefix, int64_t targets);
/// The same from attributes tree_roots, nodes_* and leaf_* (TreeEnsemble), where leaves are no nodes.
std::optional<OnnxWeightedForest> read_onnx_split_forest(OnnxBlock& b, int64_t targets);
/// A list of numbers, or of a tensor of them (`name`_as_tensor).
std::optional<std::vector<double>> onnx_forest_numbers(OnnxBlock& b, std::string_view name);

/// [N, targets] for features [N,C], by `how`: SUM, AVERAGE, MIN or MAX of the trees' weights.
Endpoint walk_onnx_forest(OnnxBlock& b, const OnnxWeightedForest& forest, const std::string& how);

}  // namespace emplace
