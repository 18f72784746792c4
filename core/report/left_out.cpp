#include "core/report/left_out.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/units.h"

namespace emplace {
namespace {

std::string why(const Graph& graph, const LeftOut& l) {
  return l.undoes == kNoNode ? std::string("nobody reads its result")
                             : cat("it and ", graph.name(l.undoes), " undo each other");
}

}  // namespace

std::string left_out_text(const Graph& graph, const LeftOut& l) { return cat("not launched: ", why(graph, l)); }

std::string left_out_summary(const Graph& graph, std::span<const LeftOut> left_out) {
  if (left_out.empty()) return {};
  const LeftOut& first = left_out.front();
  const auto size = static_cast<int64_t>(left_out.size());
  return cat(counted(size, "node"), size == 1 ? " is" : " are", " not launched, such as ", graph.name(first.node), ": ",
             why(graph, first));
}

const LeftOut* find_left_out(std::span<const LeftOut> left_out, NodeId node) {
  const auto at =
      std::lower_bound(left_out.begin(), left_out.end(), node, [](const LeftOut& l, NodeId n) { return l.node < n; });
  return at == left_out.end() || at->node != node ? nullptr : &*at;
}

}  // namespace emplace
