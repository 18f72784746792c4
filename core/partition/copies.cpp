#include "core/partition/copies.h"

#include <algorithm>
#include <unordered_map>

#include "core/partition/control_flow.h"

namespace emplace {
namespace {

class CopyPlanner {
 public:
  CopyPlanner(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
              const std::vector<Endpoint>* fed)
      : graph_(file.graph), devices_(devices), memory_(file), knows_feeds_(fed != nullptr) {
    for (const Decision& d : placement.decisions) device_.push_back(d.device);
    if (fed) fed_ = *fed;
    const auto cpu =
        std::find_if(devices.devices.begin(), devices.devices.end(), [](const Device& d) { return d.type == "CPU"; });
    host_ = static_cast<DeviceId>(cpu - devices.devices.begin());
  }

  CopyPlan plan() {
    plan_.moves = move_control_flow(graph_, device_);
    for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
      const auto inputs = graph_.inputs(node);
      for (size_t i = 0; i < inputs.size(); ++i) add_input(inputs[i], node, i);
      for (Endpoint e : graph_.controls(node)) add_control(e.node, node);
    }
    // The Switch of a control loop reads LoopCond in host memory.
    for (const RemoteLoop& loop : find_remote_loops(graph_, device_)) {
      if (device_[loop.loop_cond] == loop.device) continue;
      add({{loop.loop_cond, 0}, loop.device, MemoryKind::kHost, false}, kNoNode);
    }
    return std::move(plan_);
  }

 private:
  struct Key {
    Endpoint tensor;
    DeviceId to;
    MemoryKind received_in;
    bool control;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      const uint64_t rest = uint64_t{k.to} << 2 | static_cast<uint64_t>(k.received_in) << 1 | (k.control ? 1 : 0);
      return ((uint64_t{k.tensor.node} << 32 | k.tensor.slot) ^ rest << 40) * 0x9e3779b97f4a7c15 >> 20;
    }
  };

  void add_input(Endpoint tensor, NodeId reader, size_t i) {
    const DeviceId from = device_[tensor.node], to = device_[reader];
    const std::string_view type = devices_.at(to).type;
    if (is_fed(tensor)) return add_feed({tensor, to, memory_.input(reader, i, type), false}, reader);
    if (from == to) {
      if (type == "CPU") return;
      const MemoryKind wanted = memory_.input(reader, i, type);
      if (memory_.output(tensor.node, tensor.slot, type) != wanted) add({tensor, to, wanted, false}, reader);
      return;
    }
    add({tensor, to, memory_.input(reader, i, type), false}, reader);
  }

  bool is_fed(const Endpoint& tensor) const {
    return knows_feeds_ &&
           (graph_.traits(tensor.node).placeholder || std::find(fed_.begin(), fed_.end(), tensor) != fed_.end());
  }

  /// From the host's memory, where a GPU's kernel may want it, too.
  void add_feed(const Key& key, NodeId reader) {
    if (key.to == host_ || (devices_.at(key.to).type != "CPU" && key.received_in == MemoryKind::kHost)) return;
    const size_t index = known_.try_emplace(key, plan_.feeds.size()).first->second;
    if (index == plan_.feeds.size()) {
      Copy feed = make(key);
      feed.from = kNoDevice;
      feed.inside = false;
      feed.sent_from = MemoryKind::kHost;
      plan_.feeds.push_back(std::move(feed));
    }
    auto& readers = plan_.feeds[index].readers;
    if (readers.empty() || readers.back() != reader) readers.push_back(reader);
  }

  void add_control(NodeId source, NodeId reader) {
    const DeviceId to = device_[reader];
    if (knows_feeds_ && graph_.traits(source).placeholder) return;
    if (device_[source] == to) return;
    const MemoryKind kind = devices_.at(to).type == "CPU" ? MemoryKind::kHost : MemoryKind::kDevice;
    add({{source, 0}, to, kind, true}, reader);
  }

  void add(const Key& key, NodeId reader) {
    const bool shared = key.control || !is_ref(graph_.output_type(key.tensor));
    size_t index = plan_.copies.size();
    if (shared) index = known_.try_emplace(key, index).first->second;
    if (index == plan_.copies.size()) plan_.copies.push_back(make(key));
    auto& readers = plan_.copies[index].readers;
    if (reader != kNoNode && (readers.empty() || readers.back() != reader)) readers.push_back(reader);
  }

  Copy make(const Key& key) {
    Copy copy;
    copy.tensor = key.tensor;
    copy.from = device_[key.tensor.node];
    copy.to = key.to;
    copy.sent_from =
        key.control ? key.received_in : memory_.output(key.tensor.node, key.tensor.slot, devices_.at(copy.from).type);
    copy.received_in = key.received_in;
    copy.control = key.control;
    copy.inside = copy.from == copy.to;
    copy.bytes = key.control ? std::optional<int64_t>(0) : bytes_of(key.tensor);
    return copy;
  }

  std::optional<int64_t> bytes_of(Endpoint tensor) const {
    const Shape& shape = graph_.output_shape(tensor);
    const auto size = static_cast<int64_t>(dtype_size(base_type(graph_.output_type(tensor))));
    if (size == 0 || !shape.fully_known()) return std::nullopt;
    const std::optional<int64_t> elements = shape.checked_num_elements();
    int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, size, &bytes)) return std::nullopt;
    return bytes;
  }

  const Graph& graph_;
  const DeviceSet& devices_;
  MemoryKinds memory_;
  const bool knows_feeds_;
  std::vector<Endpoint> fed_;  // beside placeholders; few
  DeviceId host_ = 0;
  std::vector<DeviceId> device_;  // by node, after the moves
  CopyPlan plan_;
  std::unordered_map<Key, size_t, KeyHash> known_;
};

}  // namespace

int64_t CopyPlan::num_across() const {
  int64_t count = 0;
  for (const Copy& c : copies) count += !c.inside && !c.control;
  return count;
}

int64_t CopyPlan::bytes_across() const {
  int64_t bytes = 0;
  for (const Copy& c : copies) {
    if (!c.inside && !c.control) bytes += c.bytes.value_or(0);
  }
  return bytes;
}

CopyPlan plan_copies(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                     const std::vector<Endpoint>* fed) {
  return CopyPlanner(file, devices, placement, fed).plan();
}

}  // namespace emplace
