#include "core/formats/onnx/forest.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/base/cat.h"

namespace emplace {
namespace {

using NodeKey = std::pair<int64_t, int64_t>;  // tree, node

/// Of a node; by the names of ONNX.
struct NodeLists {
  Ints trees, nodes, features, yes, no, missing;
  std::vector<double> splits;
  std::vector<std::string_view> modes;
};

std::optional<NodeLists> node_lists(OnnxBlock& b) {
  NodeLists l;
  const auto ints = [&](const char* name) { return b.integers(name, Ints()); };
  l.trees = ints("nodes_treeids"), l.nodes = ints("nodes_nodeids"), l.features = ints("nodes_featureids");
  l.yes = ints("nodes_truenodeids"), l.no = ints("nodes_falsenodeids");
  l.missing = ints("nodes_missing_value_tracks_true");
  if (const OnnxAttribute* modes = b.attribute("nodes_modes", OnnxAttributeType::kStrings)) l.modes = modes->strings;
  if (auto splits = onnx_forest_numbers(b, "nodes_values")) l.splits = std::move(*splits);
  const size_t n = l.nodes.size();
  l.missing.resize(n);
  for (const size_t size :
       {l.trees.size(), l.features.size(), l.yes.size(), l.no.size(), l.modes.size(), l.splits.size()}) {
    if (size == n && n > 0 && n < INT32_MAX / 2) continue;
    b.fail("lists of nodes of different lengths, or empty ones");
    return std::nullopt;
  }
  return l;
}

/// A node's two followers, if it has any.
bool link(OnnxBlock& b, const NodeLists& l, const std::map<NodeKey, int32_t>& at, size_t i, OnnxForest& f) {
  const auto own = static_cast<int32_t>(i);
  if (l.modes[i] == "LEAF") return f.next.insert(f.next.end(), {own, own}), true;
  const auto named = [&](const auto& branch) { return branch.first == l.modes[i]; };
  const auto* mode = std::find_if(std::begin(kOnnxBranches), std::end(kOnnxBranches), named);
  const auto yes = at.find({l.trees[i], l.yes[i]}), no = at.find({l.trees[i], l.no[i]});
  if (mode == std::end(kOnnxBranches)) return b.fail(cat("nodes_modes '", l.modes[i], "'")), false;
  if (yes == at.end() || no == at.end() || l.features[i] < 0 || l.features[i] >= INT32_MAX)
    return b.fail(cat("node ", l.nodes[i], " of tree ", l.trees[i],
                      " leads to a node, or asks a feature, that there is not")),
           false;
  f.modes[i] = static_cast<uint8_t>(mode - kOnnxBranches);
  f.features[i] = static_cast<int32_t>(l.features[i]);
  f.splits[i] = l.splits[i];
  f.missing[i] = l.missing[i] != 0;
  f.next.insert(f.next.end(), {no->second, yes->second});
  return true;
}

/// A tree's root is the node that none leads to. Then levels are followed to their end, which circles do not have.
bool find_depth(OnnxBlock& b, const NodeLists& l, OnnxForest& f) {
  std::vector<uint8_t> follows(f.size());
  for (size_t i = 0; i < f.size(); ++i) {
    if (f.modes[i] != kOnnxLeaf)
      follows[static_cast<size_t>(f.next[2 * i])] = follows[static_cast<size_t>(f.next[2 * i + 1])] = 1;
  }
  std::set<int64_t> rooted, all(l.trees.begin(), l.trees.end());
  for (size_t i = 0; i < f.size(); ++i) {
    if (follows[i]) continue;
    if (!rooted.insert(l.trees[i]).second) return b.fail(cat("tree ", l.trees[i], " has more than one root")), false;
    f.roots.push_back(static_cast<int32_t>(i));
  }
  if (rooted.size() != all.size()) return b.fail("a tree without a root"), false;
  std::vector<int32_t> level = f.roots;
  size_t visited = 0;
  for (; f.depth <= kDeepestTree && visited <= f.size(); ++f.depth) {
    std::vector<int32_t> below;
    visited += level.size();
    for (const int32_t i : level) {
      const auto at = static_cast<size_t>(i);
      if (f.modes[at] != kOnnxLeaf) below.insert(below.end(), {f.next[2 * at], f.next[2 * at + 1]});
    }
    if (below.empty()) return visited == f.size() || (b.fail("nodes that lead in a circle"), false);
    level = std::move(below);
  }
  return b.fail(visited > f.size() ? std::string("nodes that more than one leads to")
                                   : cat("a tree deeper than ", kDeepestTree, " comparisons")),
         false;
}

bool read_weights(OnnxBlock& b, std::string_view prefix, const std::map<NodeKey, int32_t>& at, OnnxWeightedForest& w) {
  const auto ints = [&](const char* name) { return b.integers(cat(prefix, name), Ints()); };
  const Ints trees = ints("_treeids"), nodes = ints("_nodeids"), ids = ints("_ids");
  const auto values = onnx_forest_numbers(b, cat(prefix, "_weights"));
  const size_t n = trees.size();
  if (b.failed()) return false;
  if (!values || nodes.size() != n || ids.size() != n || values->size() != n)
    return b.fail("lists of weights of different lengths"), false;
  if (w.trees.size() > kMostForestWeights / static_cast<size_t>(w.targets)) return b.fail("too many weights"), false;
  const auto targets = static_cast<size_t>(w.targets);
  w.weights.assign(w.trees.size() * targets, 0);
  w.given.assign(w.weights.size(), 0);
  w.used.assign(targets, 0);
  for (size_t i = 0; i < n; ++i) {
    const auto node = at.find({trees[i], nodes[i]});
    if (node == at.end() || ids[i] < 0 || ids[i] >= w.targets)
      return b.fail(cat("weight ", i, " is of a node, or for a result, that there is not")), false;
    const size_t place = static_cast<size_t>(node->second) * targets + static_cast<size_t>(ids[i]);
    w.weights[place] += (*values)[i];
    w.given[place] = w.used[static_cast<size_t>(ids[i])] = 1;
    w.all_positive = w.all_positive && (*values)[i] >= 0;
  }
  return true;
}

/// Numbers of type T, a vector.
Endpoint numbers(OnnxBlock& b, const std::vector<double>& v, bool wide) {
  const Shape shape{static_cast<int64_t>(v.size())};
  if (wide) return b.constant(Tensor::of<double>(shape, v));
  return b.constant(Tensor::of<float>(shape, std::vector<float>(v.begin(), v.end())));
}

Endpoint int_vector(OnnxBlock& b, const std::vector<int32_t>& v) {
  return b.constant(Tensor::of<int32_t>(Shape{static_cast<int64_t>(v.size())}, v));
}

/// What all levels read.
struct WalkTables {
  Endpoint features, splits, modes, missing, next;
  std::vector<uint8_t> modes_used;
};

/// Does `value` lead where a true comparison does? By the modes that there are; `mode`, `missing`: of the nodes.
Endpoint compared(OnnxBlock& b, const WalkTables& t, Endpoint value, Endpoint split, Endpoint mode, Endpoint missing) {
  Endpoint yes;
  for (const uint8_t m : t.modes_used) {
    const Endpoint so = b.make(kOnnxBranches[m].second, {value, split});
    yes = yes.node == kNoNode ? so : b.make("SelectV2", {b.make("Equal", {mode, b.int32(m)}), so, yes});
  }
  if (missing.node != kNoNode)
    yes = b.make("LogicalOr", {yes, b.make("LogicalAnd", {missing, b.make("IsNan", {value})})});
  return b.cast(yes, DType::kInt32);
}

WalkTables tables_of(OnnxBlock& b, const OnnxForest& f) {
  WalkTables t;
  t.features = int_vector(b, f.features);
  t.splits = numbers(b, f.splits, f.wide);
  t.next = int_vector(b, f.next);
  const std::set<uint8_t> modes(f.modes.begin(), f.modes.end());
  std::copy_if(modes.begin(), modes.end(), std::back_inserter(t.modes_used), [](uint8_t m) { return m != kOnnxLeaf; });
  if (t.modes_used.size() > 1) t.modes = int_vector(b, std::vector<int32_t>(f.modes.begin(), f.modes.end()));
  const bool any = std::any_of(f.missing.begin(), f.missing.end(), [](uint8_t m) { return m != 0; });
  if (any) t.missing = b.cast(int_vector(b, std::vector<int32_t>(f.missing.begin(), f.missing.end())), DType::kBool);
  return t;
}

/// The leaf of each tree, [N,T].
Endpoint leaves(OnnxBlock& b, const OnnxForest& f, Endpoint x) {
  const WalkTables t = tables_of(b, f);
  const auto of = [&](Endpoint table, Endpoint at) {
    return table.node == kNoNode ? Endpoint{} : b.make("GatherV2", {table, at, b.int32(0)});
  };
  Endpoint at = int_vector(b, f.roots);
  if (f.depth == 0) {
    const Endpoint rows = b.make("Pack", {b.squeeze(b.dim_of(x, 0), {0}), b.int64(1)});
    return b.make("Tile", {b.expand(at, 0), rows});
  }
  for (int level = 0; level < f.depth && !b.failed(); ++level) {
    const Endpoint feature = of(t.features, at);
    // Every row begins at the same nodes; then each is somewhere else.
    const Endpoint value = b.make("GatherV2", {x, feature, b.int32(1)}, {{"batch_dims", attr_of(int64_t{level > 0})}});
    const Endpoint yes = compared(b, t, value, of(t.splits, at), of(t.modes, at), of(t.missing, at));
    at = of(t.next, b.add(b.mul(at, b.int32(2)), yes));
  }
  return at;
}

}  // namespace

std::optional<std::vector<double>> onnx_forest_numbers(OnnxBlock& b, std::string_view name) {
  if (const std::string as_tensor = cat(name, "_as_tensor"); b.has_attribute(as_tensor)) {
    const std::optional<Tensor> t = b.tensor(as_tensor);
    if (!t) return std::nullopt;
    if (t->dtype() == DType::kDouble)
      return std::vector<double>(t->data<double>(), t->data<double>() + t->num_elements());
    if (t->dtype() == DType::kFloat) return std::vector<double>(t->data<float>(), t->data<float>() + t->num_elements());
    return b.fail(cat(as_tensor, " of another type than float and double")), std::nullopt;
  }
  const OnnxAttribute* a = b.attribute(name, OnnxAttributeType::kFloats);
  if (!a) return std::nullopt;
  return std::vector<double>(a->floats.begin(), a->floats.end());
}

std::optional<OnnxWeightedForest> read_onnx_forest(OnnxBlock& b, std::string_view prefix, int64_t targets) {
  std::optional<NodeLists> lists = node_lists(b);
  if (!lists || b.failed()) return std::nullopt;
  if (targets < 1) return b.fail("no targets"), std::nullopt;
  OnnxWeightedForest w;
  w.targets = targets;
  const size_t n = lists->nodes.size();
  OnnxForest& f = w.trees;
  f.features.assign(n, 0), f.splits.assign(n, 0), f.missing.assign(n, 0), f.modes.assign(n, kOnnxLeaf);
  f.wide = b.has_attribute("nodes_values_as_tensor") || b.type(b.input(0)) == DType::kDouble;
  std::map<NodeKey, int32_t> at;
  for (size_t i = 0; i < n; ++i) {
    if (!at.insert({{lists->trees[i], lists->nodes[i]}, static_cast<int32_t>(i)}).second)
      return b.fail(cat("node ", lists->nodes[i], " of tree ", lists->trees[i], " twice")), std::nullopt;
  }
  for (size_t i = 0; i < n; ++i) {
    if (!link(b, *lists, at, i, f)) return std::nullopt;
  }
  if (!find_depth(b, *lists, f) || !read_weights(b, prefix, at, w)) return std::nullopt;
  return w;
}

Endpoint walk_onnx_forest(OnnxBlock& b, const OnnxWeightedForest& w, const std::string& how) {
  const DType type = w.trees.wide ? DType::kDouble : DType::kFloat;
  Endpoint x = b.cast(b.input(0), type);
  if (b.rank(x) == 1) x = b.expand(x, 0);
  const int64_t columns = b.dim(x, 1);
  const int32_t last = *std::max_element(w.trees.features.begin(), w.trees.features.end());
  if (columns >= 0 && last >= columns) return b.fail(cat("feature ", last, " of ", columns));
  std::vector<double> weights = w.weights;
  const bool least = how == "MIN", most = how == "MAX";
  const double none = (least ? 1 : -1) * std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < weights.size() && (least || most); ++i) {
    if (!w.given[i]) weights[i] = none;
  }
  const Endpoint table =
      b.reshape(numbers(b, weights, w.trees.wide), {static_cast<int64_t>(w.trees.size()), w.targets});
  const Endpoint found = b.make("GatherV2", {table, leaves(b, w.trees, x), b.int32(0)});  // [N, trees, targets]
  if (least || most) {
    const Endpoint best = b.reduce(least ? "Min" : "Max", found, Ints{1}, false);
    return b.select(b.make("IsInf", {best}), b.like(best, 0), best);
  }
  if (how != "SUM" && how != "AVERAGE")
    return b.fail(cat("aggregate_function '", how, "'"), "SUM, AVERAGE, MIN or MAX");
  const Endpoint sum = b.reduce("Sum", found, Ints{1}, false);
  return how == "SUM" ? sum : b.div(sum, b.like(sum, static_cast<double>(w.trees.roots.size())));
}

}  // namespace emplace
