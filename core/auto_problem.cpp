#include "core/auto_problem.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/device/device_text.h"
#include "core/partition/frame_map.h"
#include "core/partition/memory_kind.h"
#include "core/place/by_cost.h"

namespace emplace {
namespace {

using autoplace::kNever;
using autoplace::Machine;

/// Nodes with inputs first, a loop's back edges left out.
std::vector<NodeId> inputs_first(const Graph& g) {
  const Consumers consumers(g);
  std::vector<uint32_t> missing(g.num_nodes());
  const auto is_back = [&](NodeId source, NodeId node) {
    return g.traits(node).control == Control::kMerge && g.traits(source).control == Control::kNextIteration;
  };
  for (NodeId n = 0; n < g.num_nodes(); ++n) {
    for (const Endpoint& e : g.inputs(n)) missing[n] += is_back(e.node, n) ? 0 : 1;
    missing[n] += static_cast<uint32_t>(g.controls(n).size());
  }
  std::vector<NodeId> order;
  order.reserve(g.num_nodes());
  for (NodeId n = 0; n < g.num_nodes(); ++n) {
    if (missing[n] == 0) order.push_back(n);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Consumers::Edge& edge : consumers.of(order[i])) {
      if (edge.input >= 0 && is_back(order[i], edge.node)) continue;
      if (--missing[edge.node] == 0) order.push_back(edge.node);
    }
  }
  return order;
}

class ProblemMaker {
 public:
  ProblemMaker(const GraphFile& file, const DeviceSet& devices, const Placement& placement, const CostTable& table,
               const AutoMachine& machine, const std::vector<char>& needed)
      : graph_(file.graph),
        devices_(devices),
        placement_(placement),
        table_(table),
        machine_(machine),
        needed_(needed),
        costs_(table, file.graph, devices),
        kinds_(file),
        p_(made_.problem) {}

  Result<AutoProblem> make(autoplace::Goal goal) {
    if (devices_.size() > autoplace::kMaxDevices)
      return invalid_argument(cat("--auto can choose among ", autoplace::kMaxDevices, " devices, there are ",
                                  devices_.size(), "; --devices or --visible-devices name fewer"));
    p_.goal = goal;
    add_units();
    add_lines();
    add_nodes();
    add_scopes();
    add_tensors();
    add_candidates();
    if (!any_cost_ && nodes_without_cost_ > 0) {
      return unavailable("nobody knows what this graph costs on these devices").blamed(Blame::kDevice);
    }
    say_doubts();
    p_.finish();
    return std::move(made_);
  }

 private:
  void add_units();
  Machine::Line line_between(DeviceId from, DeviceId to);
  void add_lines();
  void add_threads();
  void add_nodes();
  void add_scopes();
  void add_costs(NodeId node);
  void add_tensors();
  void add_candidates();
  void keep_loops(std::vector<bool>& fixed) const;
  double memory_of(NodeId node, DeviceId d) const;
  void say_doubts();
  bool runs(NodeId node) const { return needed_.empty() || needed_[node] != 0; }
  bool is_gpu(DeviceId d) const { return devices_.at(d).type == "GPU"; }

  const Graph& graph_;
  const DeviceSet& devices_;
  const Placement& placement_;
  const CostTable& table_;
  const AutoMachine& machine_;
  const std::vector<char>& needed_;
  const CostEstimates costs_;
  MemoryKinds kinds_;
  AutoProblem made_;
  autoplace::Problem& p_;
  std::vector<uint32_t> number_;  // by NodeId
  bool any_cost_ = false;
  int64_t nodes_without_cost_ = 0, tensors_without_size_ = 0;
  std::string lines_without_cost_;
};

void ProblemMaker::add_units() {
  int simulated = 0;
  for (DeviceId d = 0; d < devices_.size(); ++d) simulated += devices_.at(d).kind == DeviceKind::kSimulatedGpu ? 1 : 0;
  bool host_found = false;
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    Machine::Unit unit;
    unit.gpu = is_gpu(d);
    unit.lanes = unit.gpu ? 1 : machine_.cpu_lanes;
    unit.copy_overlap = devices_.at(d).kind != DeviceKind::kSimulatedGpu;
    bool said = false;
    const std::vector<std::string> names = names_in_costs(devices_, d);
    for (size_t i = names.size(); i-- > 0;) {
      const auto at = table_.lanes.find(names[i]);
      if (at == table_.lanes.end()) continue;
      if (at->second.lanes && (unit.gpu || !machine_.given)) unit.lanes = *at->second.lanes, said = true;
      if (at->second.copy_overlap) unit.copy_overlap = *at->second.copy_overlap;
    }
    // Simulated GPUs take processors of their own, where nobody measured how they share them.
    if (!unit.gpu && simulated > 0 && !said && table_.machine.empty())
      unit.lanes = std::max(1, std::min(unit.lanes, machine_.processors - simulated));
    unit.memory = static_cast<double>(promised_memory(devices_.at(d)));
    if (!unit.gpu && !host_found) p_.machine.host = d, host_found = true;
    p_.machine.units.push_back(unit);
  }
  add_threads();
}

// CPUs and simulated GPUs run on the same threads; small steps on one, by the table that saw it, but several steps in
// flight never do.
void ProblemMaker::add_threads() {
  bool simulated = false;
  for (const Device& d : devices_.devices) {
    if (d.type == "GPU" && d.kind != DeviceKind::kSimulatedGpu) return;
    simulated = simulated || d.kind == DeviceKind::kSimulatedGpu;
  }
  const bool measured = !table_.machine.empty(), one = machine_.given && machine_.cpu_lanes == 1;
  if (p_.goal == autoplace::Goal::kThroughput) {
    if (simulated && measured) p_.machine.threads = std::max(1, machine_.processors);
  } else if (one || (table_.one_at_a_time && measured)) {
    p_.machine.threads = 1;
  } else if (simulated && (machine_.given || measured)) {
    p_.machine.threads = std::clamp(machine_.cpu_lanes, 1, std::max(1, machine_.processors));
  }
}

Machine::Line ProblemMaker::line_between(DeviceId from, DeviceId to) {
  constexpr double kSlowest = 1e6;  // us per byte
  const bool gpu_to_gpu = is_gpu(from) && is_gpu(to);
  if (from == to) return {0, 0, true};
  if (const LinkCost* link = table_.link(devices_, from, to)) return {link->latency_us, link->us_per_byte(), true};
  if (gpu_to_gpu && !is_gpu(p_.machine.host)) return {kNever, 0, false};
  if (is_gpu(from) == is_gpu(to)) return {0, 0, true};
  if (const LinkCost* back = table_.link(devices_, to, from)) return {back->latency_us, back->us_per_byte(), true};
  const Device& gpu = devices_.at(is_gpu(from) ? from : to);
  const auto said = gpu.capability.find("link_bytes_per_s"), late = gpu.capability.find("link_latency_us");
  if (said != gpu.capability.end() && said->second > 0)
    return {late == gpu.capability.end() ? 0 : std::clamp(late->second, 0.0, 1e15),
            std::min(1e6 / said->second, kSlowest), true};
  // Copies of a simulated GPU are those of the host's memory.
  if (gpu.kind == DeviceKind::kSimulatedGpu && table_.bytes_per_s > 0)
    return {1, std::min(2e6 / table_.bytes_per_s, kSlowest), true};
  append(lines_without_cost_, lines_without_cost_.empty() ? "" : ", ", short_device_name(devices_, from), " -> ",
         short_device_name(devices_, to));
  return {0, 0, true};
}

void ProblemMaker::add_lines() {
  for (DeviceId from = 0; from < devices_.size(); ++from) {
    for (DeviceId to = 0; to < devices_.size(); ++to) p_.machine.lines.push_back(line_between(from, to));
  }
}

// Nodes in loops cost what all of their turns do.
void ProblemMaker::add_nodes() {
  made_.nodes = inputs_first(graph_);
  made_.costs.resize(size_t{graph_.num_nodes()} * devices_.size());
  number_.assign(graph_.num_nodes(), 0);
  std::unordered_map<uint32_t, uint32_t> groups;
  p_.num_nodes = static_cast<uint32_t>(made_.nodes.size());
  for (uint32_t i = 0; i < made_.nodes.size(); ++i) {
    const NodeId node = made_.nodes[i];
    number_[node] = i;
    const auto [at, is_new] = groups.try_emplace(placement_.of(node).group, static_cast<uint32_t>(made_.groups.size()));
    if (is_new) made_.groups.push_back(at->first), p_.original.push_back(placement_.device(node));
    p_.group.push_back(at->second);
    add_costs(node);
  }
  p_.num_groups = static_cast<uint32_t>(made_.groups.size());
}

// "a" and "a/b" are the scopes of "a/b/node"; the one around all has no name.
void ProblemMaker::add_scopes() {
  constexpr int kDeepest = 32;
  std::unordered_map<std::string_view, uint32_t> scopes;
  p_.around.assign(1, 0);
  for (const NodeId node : made_.nodes) {
    const std::string_view name = graph_.name(node);
    uint32_t scope = 0;
    size_t end = name.find('/');
    for (int depth = 0; end != std::string_view::npos && depth < kDeepest; ++depth, end = name.find('/', end + 1)) {
      const auto [at, is_new] = scopes.try_emplace(name.substr(0, end), static_cast<uint32_t>(p_.around.size()));
      if (is_new) p_.around.push_back(scope);
      scope = at->second;
    }
    p_.scope.push_back(scope);
  }
}

void ProblemMaker::add_costs(NodeId node) {
  bool any = false;
  double spread = 0;
  const size_t first = p_.us.size();
  for (DeviceId d = 0; d < devices_.size(); ++d) {
    std::optional<CostEstimate>& cost = made_.costs[node * devices_.size() + d];
    cost = costs_.of(node, d);
    p_.us.push_back(!runs(node) ? 0 : cost ? cost->us : kNever);
    if (!cost || !runs(node)) continue;
    any = true;
    spread = std::max(spread, cost->spread);
    made_.described = made_.described || cost->source == CostSource::kDescribed;
  }
  made_.spreads.push_back(spread);
  const bool no_time = takes_no_time(graph_.traits(node));
  any_cost_ = any_cost_ || (any && !no_time);
  if (any || !runs(node)) return;
  // What no measurement saw takes no time there: constants, what nobody fetches, what was fused into others.
  std::fill(p_.us.begin() + static_cast<ptrdiff_t>(first), p_.us.end(), 0);
  if (!no_time) ++nodes_without_cost_;
}

void ProblemMaker::add_tensors() {
  std::unordered_map<uint64_t, uint32_t> known;  // by node and slot; of control edges, the slot behind the last
  const auto tensor_of = [&](Endpoint e, bool control) {
    const uint32_t slot = control ? graph_.num_outputs(e.node) : e.slot;
    const auto [at, is_new] =
        known.try_emplace(uint64_t{e.node} << 32 | slot, static_cast<uint32_t>(p_.tensors.size()));
    if (!is_new) return at->second;
    autoplace::TensorFact fact{number_[e.node], 0, false};
    if (!control) {
      const std::optional<double> bytes = costs_.output_bytes(e);
      if (!bytes) ++tensors_without_size_;
      fact.bytes = bytes.value_or(0);
      fact.host_on_gpu = kinds_.output(e.node, e.slot, "GPU") == MemoryKind::kHost;
      const auto row = table_.nodes.find(graph_.name(e.node));
      if (row != table_.nodes.end() && runs(e.node)) fact.split_us = row->second.split_us;
    }
    p_.tensors.push_back(fact);
    made_.tensors.push_back(control ? Endpoint{e.node, 0} : e);
    return at->second;
  };
  std::vector<bool> before(graph_.num_nodes());
  for (const NodeId node : made_.nodes) {
    const auto inputs = graph_.inputs(node);
    for (size_t i = 0; runs(node) && i < inputs.size(); ++i) {
      if (!before[inputs[i].node]) continue;  // a loop's back edge
      const bool host = kinds_.input(node, i, "GPU") == MemoryKind::kHost;
      p_.uses.push_back({number_[node], tensor_of(inputs[i], false), host});
    }
    for (const Endpoint& e : graph_.controls(node)) {
      if (before[e.node] && runs(node)) p_.uses.push_back({number_[node], tensor_of(e, true), false});
    }
    before[node] = true;
  }
}

// Loops, calls and what steers them stay where TensorFlow puts them.
void ProblemMaker::keep_loops(std::vector<bool>& fixed) const {
  const Result<FrameMap> frames = FrameMap::find(graph_, nullptr, made_.nodes);
  for (const NodeId node : made_.nodes) {
    const OpTraits& traits = graph_.traits(node);
    const bool steers = traits.control != Control::kNone && traits.control != Control::kTrigger;
    if (steers || traits.functional != Functional::kNone || (frames.ok() && frames->of(node) != kRootFrame))
      fixed[p_.group[number_[node]]] = true;
  }
}

double ProblemMaker::memory_of(NodeId node, DeviceId d) const {
  const double resident = costs_.resident_bytes(node, d);
  const OpTraits& traits = graph_.traits(node);
  if (resident > 0 || (!traits.constant && !traits.variable) || graph_.num_outputs(node) == 0) return resident;
  return costs_.output_bytes({node, 0}).value_or(0);
}

void ProblemMaker::add_candidates() {
  std::vector<bool> fixed(p_.num_groups);
  keep_loops(fixed);
  p_.candidates.assign(p_.num_groups, 0);
  p_.memory.assign(size_t{p_.num_groups} * devices_.size(), 0);
  std::vector<bool> seen(p_.num_groups);
  for (uint32_t i = 0; i < p_.num_nodes; ++i) {
    const uint32_t g = p_.group[i];
    for (DeviceId d = 0; d < devices_.size(); ++d) p_.memory[g * devices_.size() + d] += memory_of(made_.nodes[i], d);
    if (seen[g]) continue;
    seen[g] = true;
    for (const DeviceId d : devices_left(placement_, made_.nodes[i])) p_.candidates[g] |= uint64_t{1} << d;
  }
  // A device where nobody knows what a node takes is none for it; where that is TensorFlow's, nothing can be said to be
  // better than it.
  std::vector<uint64_t> known(p_.candidates);
  for (uint32_t i = 0; i < p_.num_nodes; ++i) {
    for (DeviceId d = 0; d < devices_.size(); ++d) {
      if (p_.node_us(i, d) == kNever) known[p_.group[i]] &= ~(uint64_t{1} << d);
    }
  }
  for (uint32_t g = 0; g < p_.num_groups; ++g) {
    const uint64_t original = uint64_t{1} << p_.original[g];
    p_.candidates[g] = fixed[g] || (known[g] & original) == 0 ? original : known[g];
  }
  // Where TensorFlow puts a node, it can run: without a cost, as if for nothing.
  for (uint32_t i = 0; i < p_.num_nodes; ++i) {
    const uint32_t g = p_.group[i];
    double& us = p_.us[i * devices_.size() + p_.original[g]];
    if (us == kNever && p_.candidates[g] == uint64_t{1} << p_.original[g]) us = 0, ++nodes_without_cost_;
  }
}

void ProblemMaker::say_doubts() {
  if (nodes_without_cost_ > 0)
    made_.doubts.push_back(cat(counted(nodes_without_cost_, "node"), " of ", p_.num_nodes,
                               " without a cost in any table: counted as taking no time"));
  if (tensors_without_size_ > 0 && devices_.size() > 1)
    made_.doubts.push_back(cat(counted(tensors_without_size_, "tensor"), " of unknown size: counted as empty"));
  if (!lines_without_cost_.empty())
    made_.doubts.push_back(cat("no table says what copies cost: ", lines_without_cost_, ": counted as free"));
}

}  // namespace

Result<AutoProblem> auto_problem(const GraphFile& file, const DeviceSet& devices, const Placement& placement,
                                 const CostTable& table, const AutoMachine& machine, autoplace::Goal goal,
                                 const std::vector<char>& needed) {
  return ProblemMaker(file, devices, placement, table, machine, needed).make(goal);
}

}  // namespace emplace
