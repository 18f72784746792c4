#include "core/train/gradient_path.h"

#include <algorithm>
#include <deque>

#include "core/base/cat.h"
#include "core/op/complex_gradients.h"
#include "core/op/op_def.h"

namespace emplace {
namespace {

constexpr size_t kShown = 12;  // nodes of a path; of a longer one its ends

}  // namespace

bool carries_gradient(DType type) {
  const DType base = base_type(type);
  return kFloating.has(base) || kComplexes.has(base) || base == DType::kResource || base == DType::kVariant;
}

bool takes_gradient(const Graph& g, NodeId node) {
  bool complex = false;
  for (const Endpoint& e : g.inputs(node)) complex = complex || kComplexes.has(base_type(g.output_type(e)));
  for (uint32_t i = 0; i < g.num_outputs(node); ++i)
    complex = complex || kComplexes.has(base_type(g.output_type({node, i})));
  return !complex || has_complex_gradient(g.op(node));
}

// From the loss to `to`; empty if there is no path.
std::vector<NodeId> GradientPath::find(NodeId to) {
  if (steps_.empty()) {
    steps_.resize(num_nodes_);
    std::deque<NodeId> queue{loss_.node};
    for (; !queue.empty(); queue.pop_front()) {
      const NodeId reader = queue.front();
      auto inputs = graph_.inputs(reader);
      for (uint32_t i = 0; i < inputs.size(); ++i) {
        const NodeId source = inputs[i].node;
        if (source == loss_.node || source >= num_nodes_ || steps_[source].reader != kNoNode) continue;
        steps_[source] = {reader, i};
        queue.push_back(source);
      }
    }
  }
  if (to != loss_.node && steps_[to].reader == kNoNode) return {};
  std::vector<NodeId> path{to};
  while (path.back() != loss_.node) path.push_back(steps_[path.back()].reader);
  std::reverse(path.begin(), path.end());
  return path;
}

std::string GradientPath::text(NodeId to) {
  const std::vector<NodeId> path = find(to);
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path.size() > kShown && i >= kShown / 2 && i < path.size() - kShown / 2) {
      if (i == kShown / 2) append(out, " <- ... (", path.size() - kShown, " more)");
      continue;
    }
    append(out, i == 0 ? "" : " <- ", graph_.name(path[i]), " (", graph_.op(path[i]), ")");
  }
  return out;
}

// What keeps a gradient from going from a node to its input; empty if nothing does.
std::string GradientPath::loss_at(NodeId reader, uint32_t input) const {
  const NodeType& type = graph_.type(reader);
  if (type.def && type.def->stops_gradients()) return cat(type.op, " is not differentiable");
  const DType dtype = graph_.output_type(graph_.inputs(reader)[input]);
  if (!carries_gradient(dtype)) return cat("what it reads is ", dtype_name(dtype), ", which carries no gradient");
  if (!takes_gradient(graph_, reader)) return cat(type.op, " has no gradient for complex numbers here");
  if (std::find(no_gradient_.begin(), no_gradient_.end(), std::pair(reader, input)) != no_gradient_.end()) {
    return cat(type.op, " has no gradient for its input ", input);
  }
  return {};
}

std::string GradientPath::why_not(Endpoint x) {
  const std::vector<NodeId> path = find(x.node);
  if (path.empty())
    return cat("'", graph_.name(loss_.node), "' (", graph_.op(loss_.node), ") does not depend on '",
               graph_.name(x.node), "'");
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const std::string lost = loss_at(path[i], steps_[path[i + 1]].input);
    if (!lost.empty()) return cat("the path ", text(x.node), " ends at '", graph_.name(path[i]), "': ", lost);
  }
  return cat("no gradient comes along the path ", text(x.node));
}

}  // namespace emplace
