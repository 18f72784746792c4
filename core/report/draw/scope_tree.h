/// The scopes of a picture's nodes as a tree, from the slashes in their names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/report/draw/picture.h"

namespace emplace {

/// A node of the picture, or a scope.
struct ScopeChild {
  bool is_scope = false;
  uint32_t index = 0;  // in Picture::nodes or ScopeTree::scopes
};

struct Scope {
  std::string path;      // "enc/layer1"; a device's name before it where nodes are grouped by device; "": the root
  std::string label;     // what the path adds to the parent's
  std::string prefix;    // with which the names of its nodes begin: "enc/layer1/"
  bool is_part = false;  // of a scope with too many children: its path ends with "[2]"
  uint32_t parent = 0;
  uint32_t depth = 0;                // of the root: 0
  uint32_t in_parent = 0;            // position among the parent's children
  uint32_t first = 0, end = 0;       // its nodes, with those of scopes inside: ScopeTree::leaves
  CopyTotal copies;                  // from a node of it to one of it: no edge shows them while it is closed
  std::vector<ScopeChild> children;  // by their first node
};

/// A prefix becomes a scope if two nodes have it, and one that adds nothing to the scope inside it does not. A node
/// with the name of a scope is inside it.
struct ScopeTree {
  std::vector<Scope> scopes;        // 0: the root; parents come before what is inside them
  std::vector<uint32_t> parent;     // of nodes
  std::vector<uint32_t> in_parent;  // of nodes: position among the parent's children
  std::vector<uint32_t> leaves;     // nodes scope by scope
  std::vector<std::string> labels;  // of nodes, within their scope
};

/// A node or a scope on its way up the tree.
struct TreePath {
  const ScopeTree& tree;
  ScopeChild at;

  uint32_t parent() const { return at.is_scope ? tree.scopes[at.index].parent : tree.parent[at.index]; }
  uint32_t position() const { return at.is_scope ? tree.scopes[at.index].in_parent : tree.in_parent[at.index]; }
  void go_up() { at = {true, parent()}; }
};

/// Scopes with more than `most_children` are cut into parts, which are scopes as well.
ScopeTree make_scope_tree(const Picture& picture, DrawGroup group, size_t most_children);

/// The innermost scope that has both.
uint32_t common_scope(TreePath a, TreePath b);

/// By scope: is it open? From the root on, the outer ones first, then the smaller, as long as there are at most `most`
/// boxes; no deeper than `depth`, if that is not negative.
std::vector<bool> choose_open(const ScopeTree& tree, int64_t depth, size_t most);

}  // namespace emplace
