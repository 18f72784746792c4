#include "core/report/compare/node_difference.h"

#include <algorithm>
#include <utility>

namespace emplace {

int64_t NodeDifferences::count(NodeVerdict verdict) const {
  return std::count(verdicts.begin(), verdicts.end(), verdict);
}

void NodeDifferences::add(const Graph& graph, OutputDifference found) {
  const NodeId node = found.tensor.node;
  const TensorDifference& d = found.difference;
  if (!d.known) return;
  NodeVerdict& verdict = verdicts[node];
  if (verdict == NodeVerdict::kNotCompared) found.order = compared++;
  const NodeVerdict now = !d.within() ? NodeVerdict::kDifferent
                          : d.same()  ? NodeVerdict::kSameBytes
                                      : NodeVerdict::kWithin;
  const NodeVerdict before = std::exchange(verdict, std::max(verdict, now));
  for (const Endpoint& input : graph.inputs(node)) found.input_ulp = std::max(found.input_ulp, ulp[input.node]);
  ulp[node] = std::max(ulp[node], d.max_ulp);
  if (now == NodeVerdict::kDifferent && before != now)
    different.push_back(std::move(found));
  else if (now == NodeVerdict::kWithin && before < now)
    within.push_back(std::move(found));
}

}  // namespace emplace
