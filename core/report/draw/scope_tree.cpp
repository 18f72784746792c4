#include "core/report/draw/scope_tree.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/device/device_text.h"

namespace emplace {
namespace {

/// The most levels of scopes; the rest of a deeper name counts as the node's own. Bounds recursion over the tree.
constexpr size_t kMostDepth = 48;
/// Parts of a scope that has too many children: as many as one can look through.
constexpr size_t kMostParts = 100;

class TreeBuilder {
 public:
  TreeBuilder(const Picture& picture, DrawGroup group) : picture_(picture), group_(group) {
    tree_.scopes.emplace_back();
    tree_.parent.resize(picture.nodes.size());
    tree_.labels.resize(picture.nodes.size());
    if (group == DrawGroup::kDevice) {
      for (DeviceId d = 0; d < picture.report->devices->size(); ++d)
        devices_.push_back(short_device_name(*picture.report->devices, d));
    }
  }

  ScopeTree build() {
    for (uint32_t i = 0; i < picture_.nodes.size(); ++i) {
      const std::string path = path_of(i);
      for (const size_t end : ends_of_scopes(path)) ++counts_[path.substr(0, end)];
    }
    for (uint32_t i = 0; i < picture_.nodes.size(); ++i) add_node(i);
    return std::move(tree_);
  }

 private:
  std::string path_of(uint32_t i) const {
    const std::string_view name = picture_.name(i);
    return devices_.empty() ? std::string(name) : cat(devices_[picture_.nodes[i].device], '/', name);
  }

  /// The lengths of the prefixes that could be scopes; the whole path may be one, if there are nodes below it.
  std::vector<size_t> ends_of_scopes(const std::string& path) const {
    std::vector<size_t> ends;
    if (group_ == DrawGroup::kNone) return ends;
    const size_t begin = devices_.empty() ? 1 : path.find('/');
    for (size_t at = path.find('/', begin); at != std::string::npos && ends.size() < kMostDepth;
         at = path.find('/', at + 1)) {
      if (at + 1 < path.size()) ends.push_back(at);
    }
    if (ends.size() < kMostDepth) ends.push_back(path.size());
    return ends;
  }

  void add_node(uint32_t i) {
    const std::string path = path_of(i);
    const std::vector<size_t> ends = ends_of_scopes(path);
    uint32_t scope = 0;
    for (size_t k = 0; k < ends.size(); ++k) {
      const uint32_t count = counts_.at(path.substr(0, ends[k]));
      if (count < 2) break;
      const bool adds_nothing = k + 1 < ends.size() && counts_.at(path.substr(0, ends[k + 1])) == count;
      if (!adds_nothing) scope = scope_at(path.substr(0, ends[k]), scope);
    }
    tree_.parent[i] = scope;
    Scope& in = tree_.scopes[scope];
    in.children.push_back({false, i});
    const size_t inside = scope == 0 ? 0 : in.path.size() + 1;
    tree_.labels[i] = inside < path.size() ? path.substr(inside) : cat('(', path.substr(path.rfind('/') + 1), ')');
  }

  uint32_t scope_at(const std::string& path, uint32_t parent) {
    const auto [found, is_new] = by_path_.try_emplace(path, static_cast<uint32_t>(tree_.scopes.size()));
    if (!is_new) return found->second;
    Scope scope;
    scope.path = path;
    scope.label = parent == 0 ? path : path.substr(tree_.scopes[parent].path.size() + 1);
    const size_t device = devices_.empty() ? 0 : path.find('/');
    scope.prefix = device == std::string::npos ? "" : path.substr(devices_.empty() ? 0 : device + 1) + '/';
    scope.parent = parent;
    tree_.scopes[parent].children.push_back({true, found->second});
    tree_.scopes.push_back(std::move(scope));
    return found->second;
  }

  const Picture& picture_;
  const DrawGroup group_;
  std::vector<std::string> devices_;  // names, if nodes are grouped by device
  std::unordered_map<std::string, uint32_t> counts_, by_path_;
  ScopeTree tree_;
};

std::string label_of(const ScopeTree& tree, ScopeChild child) {
  return child.is_scope ? tree.scopes[child.index].label : tree.labels[child.index];
}

/// Children of `scope` become those of parts, in their order, so that edges between parts go forward.
void cut_into_parts(ScopeTree& tree, uint32_t scope, size_t most_children) {
  const std::vector<ScopeChild> children = std::move(tree.scopes[scope].children);
  const size_t n = children.size(), parts = std::min(kMostParts, (n + most_children - 1) / most_children);
  tree.scopes[scope].children.clear();
  for (size_t p = 0; p < parts; ++p) {
    const size_t from = n * p / parts, to = n * (p + 1) / parts;
    Scope part;
    part.is_part = true;
    part.path = cat(tree.scopes[scope].path, scope == 0 ? "" : "/", '[', p + 1, ']');
    part.label = cat(label_of(tree, children[from]), " .. ", label_of(tree, children[to - 1]));
    part.prefix = tree.scopes[scope].prefix;
    part.parent = scope;
    part.children.assign(children.begin() + static_cast<ptrdiff_t>(from),
                         children.begin() + static_cast<ptrdiff_t>(to));
    const auto index = static_cast<uint32_t>(tree.scopes.size());
    for (const ScopeChild child : part.children) {
      (child.is_scope ? tree.scopes[child.index].parent : tree.parent[child.index]) = index;
    }
    tree.scopes[scope].children.push_back({true, index});
    tree.scopes.push_back(std::move(part));
  }
}

/// Depths, positions among siblings, and the order of nodes scope by scope.
class Numbering {
 public:
  explicit Numbering(ScopeTree& tree) : tree_(tree) { tree.in_parent.resize(tree.parent.size()); }

  void number(uint32_t index) {
    tree_.scopes[index].first = static_cast<uint32_t>(tree_.leaves.size());
    for (uint32_t i = 0; i < tree_.scopes[index].children.size(); ++i) {
      const ScopeChild child = tree_.scopes[index].children[i];
      if (child.is_scope) {
        tree_.scopes[child.index].in_parent = i;
        tree_.scopes[child.index].depth = tree_.scopes[index].depth + 1;
        number(child.index);
      } else {
        tree_.in_parent[child.index] = i;
        tree_.leaves.push_back(child.index);
      }
    }
    tree_.scopes[index].end = static_cast<uint32_t>(tree_.leaves.size());
  }

 private:
  ScopeTree& tree_;
};

/// Each copy counts in the innermost scope that has both ends of one of its edges, and in those around it, once.
void count_copies(const Picture& picture, ScopeTree& tree) {
  std::vector<std::pair<uint32_t, uint32_t>> inside;  // copy, scope
  for (const PictureEdge& edge : picture.edges) {
    if (edge.num_copies == 0) continue;
    const uint32_t scope = common_scope({tree, {false, edge.from}}, {tree, {false, edge.to}});
    for (const uint32_t copy : picture.copies_of(edge)) inside.emplace_back(copy, scope);
  }
  std::sort(inside.begin(), inside.end());
  constexpr uint32_t kNone = ~uint32_t{0};
  std::vector<uint32_t> last(tree.scopes.size(), kNone);  // the copy counted last, by scope
  for (auto [copy, scope] : inside) {
    for (; scope != 0 && last[scope] != copy; scope = tree.scopes[scope].parent) {
      last[scope] = copy;
      tree.scopes[scope].copies.add(picture.report->copies->copies[copy]);
    }
  }
}

}  // namespace

ScopeTree make_scope_tree(const Picture& picture, DrawGroup group, size_t most_children) {
  ScopeTree tree = TreeBuilder(picture, group).build();
  for (uint32_t s = 0; s < tree.scopes.size(); ++s) {  // parts are looked at in their turn
    if (tree.scopes[s].children.size() > most_children) cut_into_parts(tree, s, most_children);
  }
  Numbering(tree).number(0);
  count_copies(picture, tree);
  return tree;
}

uint32_t common_scope(TreePath a, TreePath b) {
  const std::vector<Scope>& scopes = a.tree.scopes;
  while (a.parent() != b.parent()) (scopes[a.parent()].depth >= scopes[b.parent()].depth ? a : b).go_up();
  return a.parent();
}

std::vector<bool> choose_open(const ScopeTree& tree, int64_t depth, size_t most) {
  std::vector<bool> open(tree.scopes.size());
  using Waiting = std::tuple<uint32_t, size_t, uint32_t>;  // depth, children, scope
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  waiting.emplace(0, 0, 0);
  size_t boxes = 0;
  while (!waiting.empty()) {
    const auto [level, size, scope] = waiting.top();
    waiting.pop();
    const std::vector<ScopeChild>& children = tree.scopes[scope].children;
    if (scope != 0 && (boxes + children.size() > most || (depth >= 0 && level > depth))) continue;
    open[scope] = true;
    boxes += children.size();
    for (const ScopeChild child : children) {
      if (child.is_scope) waiting.emplace(level + 1, tree.scopes[child.index].children.size(), child.index);
    }
  }
  return open;
}

}  // namespace emplace
