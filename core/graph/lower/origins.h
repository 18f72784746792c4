/// Origins: for every node that lowering made, the node of the file that it stands for and the function calls around
/// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace emplace {

/// Of nodes made in place of one node, or copied from one function's body for one call.
struct Origin {
  std::string_view node;      // that is lowered, or that calls
  std::string_view function;  // whose body the nodes are from; empty: they are in place of `node`
  uint32_t caller = 0;        // origin of `node` itself
  uint32_t depth = 0;         // calls around
};

class Origins {
 public:
  static constexpr uint32_t kFile = 0;  // the node is one of the file

  Origins() : list_(1) {}
  uint32_t add(Origin origin) {
    list_.push_back(origin);
    return static_cast<uint32_t>(list_.size() - 1);
  }
  const Origin& at(uint32_t origin) const { return list_[origin]; }

  void set_nodes(std::vector<uint32_t> of_node) { of_node_ = std::move(of_node); }
  uint32_t of(NodeId node) const { return node < of_node_.size() ? of_node_[node] : kFile; }
  bool empty() const { return of_node_.empty(); }

  /// "in function 'f', called by 'n'", from the inside out; "made of 'n'". Empty for a node of the file.
  std::string text(NodeId node) const { return chain_text(of(node)); }
  std::string chain_text(uint32_t origin) const;
  /// Is the body of `function` around nodes of that origin? Then "f -> g -> f" in `path`.
  bool is_inside(uint32_t origin, std::string_view function, std::string& path) const;

 private:
  std::vector<Origin> list_;
  std::vector<uint32_t> of_node_;  // short: the rest is the file's
};

}  // namespace emplace
