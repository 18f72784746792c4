// Part of core/formats/onnx/forest.h: the forest of TreeEnsemble, whose leaves have a table of their own. A node that
// asks for one of several values becomes a chain of nodes that ask for one each.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/cat.h"
#include "core/formats/onnx/forest.h"

namespace emplace {
namespace {

constexpr uint8_t kMember = std::size(kOnnxBranches);  // the mode of a node that asks for one of several values
constexpr uint8_t kEqual = 4;                          // a place in kOnnxBranches
static_assert(std::string_view(kOnnxBranches[kEqual].first) == "BRANCH_EQ");

struct SplitNodes {
  Ints features, yes, no, yes_leaf, no_leaf, missing, roots;
  std::vector<double> splits;
  std::vector<uint8_t> modes;
  std::vector<std::vector<double>> members;  // of each node
};

std::optional<std::vector<double>> numbers_of(OnnxBlock& b, const char* name) {
  const std::optional<Tensor> t = b.tensor(name);
  if (!t) return std::nullopt;
  if (t->dtype() == DType::kDouble) return std::vector<double>(t->flat<double>().begin(), t->flat<double>().end());
  if (t->dtype() == DType::kFloat) return std::vector<double>(t->flat<float>().begin(), t->flat<float>().end());
  return b.fail(cat(name, " of another type than float and double")), std::nullopt;
}

/// Values follow each other, those of each node up to a NaN.
bool read_members(OnnxBlock& b, SplitNodes& l) {
  const std::vector<double> all = numbers_of(b, "membership_values").value_or(std::vector<double>());
  auto next = all.begin();
  l.members.resize(l.modes.size());
  for (size_t i = 0; i < l.modes.size() && !b.failed(); ++i) {
    if (l.modes[i] > kMember) return b.fail(cat("mode ", int{l.modes[i]})), false;
    if (l.modes[i] != kMember) continue;
    const auto end = std::find_if(next, all.end(), [](double v) { return std::isnan(v); });
    if (next == end) return b.fail("a node that asks for one of no values"), false;
    l.members[i].assign(next, end);
    next = end == all.end() ? end : end + 1;
  }
  return !b.failed();
}

std::optional<SplitNodes> split_nodes(OnnxBlock& b) {
  SplitNodes l;
  const auto ints = [&](const char* name) { return b.integers(name, Ints()); };
  l.features = ints("nodes_featureids"), l.yes = ints("nodes_truenodeids"), l.no = ints("nodes_falsenodeids");
  l.yes_leaf = ints("nodes_trueleafs"), l.no_leaf = ints("nodes_falseleafs"), l.roots = ints("tree_roots");
  l.missing = ints("nodes_missing_value_tracks_true");
  if (const auto modes = b.tensor("nodes_modes"); modes && modes->dtype() == DType::kUInt8)
    l.modes.assign(modes->flat<uint8_t>().begin(), modes->flat<uint8_t>().end());
  if (const auto splits = numbers_of(b, "nodes_splits")) l.splits = *splits;
  const size_t n = l.features.size();
  l.missing.resize(n);
  for (const size_t size :
       {l.yes.size(), l.no.size(), l.yes_leaf.size(), l.no_leaf.size(), l.splits.size(), l.modes.size()}) {
    if (size == n && n > 0 && n < INT32_MAX / 4) continue;
    if (!b.failed()) b.fail("lists of nodes of different lengths, or empty ones");
    return std::nullopt;
  }
  if (l.roots.empty()) return b.fail("no tree_roots"), std::nullopt;
  return read_members(b, l) ? std::optional(std::move(l)) : std::nullopt;
}

/// Where the nodes of the file begin in the forest, and behind them the leaves.
struct Places {
  std::vector<int32_t> nodes;
  int32_t leaves = 0;
};

bool link_nodes(OnnxBlock& b, const SplitNodes& l, const Places& at, int64_t leaves, OnnxForest& f) {
  const auto follower = [&](int64_t to, int64_t is_leaf) -> int32_t {
    const int64_t most = is_leaf != 0 ? leaves : static_cast<int64_t>(l.modes.size());
    if (to < 0 || to >= most) return -1;
    return is_leaf != 0 ? at.leaves + static_cast<int32_t>(to) : at.nodes[static_cast<size_t>(to)];
  };
  for (size_t i = 0; i < l.modes.size(); ++i) {
    const int32_t yes = follower(l.yes[i], l.yes_leaf[i]), no = follower(l.no[i], l.no_leaf[i]);
    if (yes < 0 || no < 0 || l.features[i] < 0 || l.features[i] >= INT32_MAX)
      return b.fail(cat("node ", i, " leads to a node, or asks a feature, that there is not")), false;
    const size_t count = std::max<size_t>(l.members[i].size(), 1);
    for (size_t k = 0; k < count; ++k) {
      const auto own = static_cast<size_t>(at.nodes[i]) + k;
      f.features[own] = static_cast<int32_t>(l.features[i]);
      f.modes[own] = l.members[i].empty() ? l.modes[i] : kEqual;
      f.splits[own] = l.members[i].empty() ? l.splits[i] : l.members[i][k];
      f.missing[own] = l.missing[i] != 0;
      f.next[2 * own] = k + 1 == count ? no : static_cast<int32_t>(own + 1);
      f.next[2 * own + 1] = yes;
    }
  }
  return true;
}

/// Levels are followed to their end, which circles do not have.
bool measure(OnnxBlock& b, OnnxForest& f) {
  std::set<int32_t> level(f.roots.begin(), f.roots.end());
  for (;; ++f.depth) {
    std::set<int32_t> below;
    for (const int32_t i : level) {
      const auto at = static_cast<size_t>(i);
      if (f.modes[at] != kOnnxLeaf) below.insert({f.next[2 * at], f.next[2 * at + 1]});
    }
    if (below.empty()) return true;
    if (f.depth == kDeepestTree)
      return b.fail(cat("a tree deeper than ", kDeepestTree, " comparisons, or one that leads in a circle")), false;
    level = std::move(below);
  }
}

}  // namespace

std::optional<OnnxWeightedForest> read_onnx_split_forest(OnnxBlock& b, int64_t targets) {
  const std::optional<SplitNodes> lists = split_nodes(b);
  const std::optional<std::vector<double>> weights = numbers_of(b, "leaf_weights");
  const Ints ids = b.integers("leaf_targetids", Ints());
  if (b.failed() || !lists) return std::nullopt;
  if (!weights || weights->empty() || ids.size() != weights->size() || targets < 1)
    return b.fail("leaves and their targets do not fit"), std::nullopt;
  OnnxWeightedForest w;
  w.targets = targets;
  Places at;
  for (const auto& members : lists->members) {
    at.nodes.push_back(at.leaves);
    at.leaves += static_cast<int32_t>(std::max<size_t>(members.size(), 1));
  }
  const size_t n = static_cast<size_t>(at.leaves) + ids.size();
  if (n > kMostForestWeights / static_cast<size_t>(targets)) return b.fail("too many weights"), std::nullopt;
  OnnxForest& f = w.trees;
  f.features.assign(n, 0), f.splits.assign(n, 0), f.missing.assign(n, 0), f.modes.assign(n, kOnnxLeaf);
  for (size_t i = 0; i < n; ++i) f.next.insert(f.next.end(), 2, static_cast<int32_t>(i));
  f.wide = b.type(b.input(0)) == DType::kDouble;
  for (const int64_t root : lists->roots) {
    if (root < 0 || root >= static_cast<int64_t>(at.nodes.size())) return b.fail(cat("root ", root)), std::nullopt;
    f.roots.push_back(at.nodes[static_cast<size_t>(root)]);
  }
  if (!link_nodes(b, *lists, at, static_cast<int64_t>(ids.size()), f) || !measure(b, f)) return std::nullopt;
  w.weights.assign(n * static_cast<size_t>(targets), 0);
  w.given.assign(w.weights.size(), 0);
  w.used.assign(static_cast<size_t>(targets), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= targets)
      return b.fail(cat("leaf ", i, " is for a target that there is not")), std::nullopt;
    const size_t place =
        (static_cast<size_t>(at.leaves) + i) * static_cast<size_t>(targets) + static_cast<size_t>(ids[i]);
    w.weights[place] = (*weights)[i];
    w.given[place] = w.used[static_cast<size_t>(ids[i])] = 1;
    w.all_positive = w.all_positive && (*weights)[i] >= 0;
  }
  return w;
}

}  // namespace emplace
