/// Which nodes a listing shows: --nodes, --device, --op.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/expression.h"
#include "core/place/placement.h"

namespace emplace {

/// Over whole names of nodes, with \d for a digit. InvalidArgument: it is none.
Result<std::unique_ptr<Expression>> name_pattern(std::string_view pattern);

/// A node is shown that all of those match which are not empty.
struct NodeFilter {
  std::string nodes = {};   // a name_pattern()
  std::string device = {};  // "GPU:0", "/gpu:0", "GPU", a whole name: where it is
  std::string op = {};

  bool any() const { return !nodes.empty() || !device.empty() || !op.empty(); }
  /// InvalidArgument: something is malformed.
  Status check() const;
  /// By node: is it shown. InvalidArgument: something is malformed, or no node is.
  Result<std::vector<char>> shown(const Graph& graph, const DeviceSet& devices, const Placement& placement) const;
};

}  // namespace emplace
