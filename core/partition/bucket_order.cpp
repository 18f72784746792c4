#include "core/partition/bucket_order.h"

#include <algorithm>
#include <map>

#include "core/partition/rank_order.h"

namespace emplace {
namespace {

constexpr uint32_t kNotRun = ~uint32_t{0};
// A bucket meets once so many more are made. With 1, tasks that are not quite as fast as each other stop for each other
// at every bucket: 240 ms a step of ten buckets on two processes, 174 with 2, 177 with 3, 184 with all at the end.
constexpr size_t kBehind = 2;

/// Takes nodes with all that they wait for. Positions in the order that was given stand for nodes.
class Taker {
 public:
  Taker(const Graph& graph, const Pruned& pruned, const std::vector<NodeId>& order)
      : graph_(graph), pruned_(pruned), order_(order), taken_(order.size()), position_(graph.num_nodes(), kNotRun) {
    uint32_t last_with_state = kNotRun;
    for (uint32_t i = 0; i < order.size(); ++i) {
      position_[order[i]] = i;
      state_before_.push_back(last_with_state);
      if (has_state(graph, order[i])) last_with_state = i;
    }
  }

  void take(const std::vector<NodeId>& nodes) {
    std::vector<uint32_t> reached, open;
    const auto reach = [&](uint32_t i) {
      if (i == kNotRun || taken_[i]) return;
      taken_[i] = true;
      reached.push_back(i), open.push_back(i);
    };
    for (const NodeId node : nodes) reach(position_[node]);
    while (!open.empty()) {
      const uint32_t i = open.back();
      open.pop_back();
      for (const Endpoint& e : graph_.inputs(order_[i])) {
        if (pruned_.feed_of(e) < 0) reach(position_[e.node]);
      }
      for (const Endpoint& e : graph_.controls(order_[i])) {
        if (pruned_.orders(e.node)) reach(position_[e.node]);
      }
      if (has_state(graph_, order_[i])) reach(state_before_[i]);
    }
    std::sort(reached.begin(), reached.end());
    for (const uint32_t i : reached) out_.push_back(order_[i]);
  }

  std::vector<NodeId> take_rest() {
    for (uint32_t i = 0; i < order_.size(); ++i) {
      if (!taken_[i]) out_.push_back(order_[i]);
    }
    return std::move(out_);
  }

 private:
  const Graph& graph_;
  const Pruned& pruned_;
  const std::vector<NodeId>& order_;
  std::vector<uint8_t> taken_;
  std::vector<uint32_t> position_;      // by node
  std::vector<uint32_t> state_before_;  // the one that uses variables or other state before it
  std::vector<NodeId> out_;
};

}  // namespace

std::optional<int64_t> bucket_of(const Graph& graph, NodeId node) {
  const AttrValue* attr = Attrs(graph.written_attrs(node)).find(kBucketAttr);
  const int64_t* number = attr ? attr->get_if<int64_t>() : nullptr;
  return number ? std::optional(*number) : std::nullopt;
}

std::vector<NodeId> order_by_bucket(const Graph& graph, const Pruned& pruned, std::vector<NodeId> order) {
  struct Bucket {
    std::vector<NodeId> inputs, nodes;
  };
  std::map<int64_t, Bucket> buckets;
  for (const NodeId node : order) {
    const std::optional<int64_t> number = bucket_of(graph, node);
    if (!number) continue;
    Bucket& bucket = buckets[*number];
    bucket.nodes.push_back(node);
    for (const Endpoint& e : graph.inputs(node)) {
      if (!bucket_of(graph, e.node)) bucket.inputs.push_back(e.node);
    }
  }
  if (buckets.empty()) return order;
  Taker taker(graph, pruned, order);
  std::vector<const std::vector<NodeId>*> to_meet;
  size_t met = 0;
  for (const auto& [number, bucket] : buckets) {
    taker.take(bucket.inputs);
    to_meet.push_back(&bucket.nodes);
    if (to_meet.size() - met > kBehind) taker.take(*to_meet[met++]);
  }
  for (; met < to_meet.size(); ++met) taker.take(*to_meet[met]);
  return taker.take_rest();
}

}  // namespace emplace
