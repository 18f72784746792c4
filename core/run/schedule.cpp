#include "core/run/schedule.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace emplace {
namespace {

constexpr double kNsPerByte = 0.05;
constexpr double kNsPerMultiplyAdd = 0.02;

}  // namespace

Schedule::Schedule(const Graph& graph, const Program& program, const Plan& plan)
    : graph_(graph), program_(program), plan_(plan) {
  add_steps();
  add_data_edges();
  add_state_edges();
}

void Schedule::add_steps() {
  node_of_.assign(program_.instructions.size(), 0);
  size_t group = 0;
  for (InstructionId id = 0; id < program_.instructions.size();) {
    InstructionId end = id + 1;
    if (group < plan_.groups.size() && plan_.groups[group].first() == id)
      end = plan_.groups[group++].last() + 1;
    else if (program_.instructions[id].kind == InstructionKind::kLoop)
      end = program_.instructions[id].body_end;
    double cost = 0;
    for (InstructionId s = id; s < end; ++s) {
      node_of_[s] = static_cast<uint32_t>(nodes_.size());
      cost += estimate_ns(s);
    }
    nodes_.push_back(id);
    cost_ns_.push_back(cost);
    id = end;
  }
}

double Schedule::bytes(ValueId v) const {
  const Shape& shape = plan_.values[v].shape;
  if (!shape.fully_known() || plan_.values[v].storage == Storage::kTile) return 0;
  // A variable may say a shape that nothing can ever have.
  return static_cast<double>(shape.checked_num_elements().value_or(0)) *
         static_cast<double>(storage_size(program_.values[v].dtype));
}

// From shapes alone. Only the order of magnitude matters.
double Schedule::estimate_ns(InstructionId id) const {
  const Instruction& s = program_.instructions[id];
  if (plan_.modes[id] == InstructionMode::kSkip || s.kind == InstructionKind::kConstant ||
      s.kind == InstructionKind::kLoop)
    return 0;
  double moved = 0;
  for (ValueId v : program_.inputs(s)) moved += bytes(v);
  for (ValueId v : program_.outputs(s)) moved += bytes(v);
  double ns = moved * kNsPerByte + 20;
  if (s.kind != InstructionKind::kNode || s.num_inputs < 2 || s.num_outputs < 1) return ns;
  double a = bytes(program_.inputs(s)[0]), b = bytes(program_.inputs(s)[1]), c = bytes(program_.outputs(s)[0]);
  auto element = static_cast<double>(std::max<size_t>(1, storage_size(program_.values[program_.outputs(s)[0]].dtype)));
  const Work work = graph_.traits(s.node).work;
  if (c > 0 && work == Work::kMatMul) {
    ns += std::sqrt(a * b / c / element) * (c / element) * kNsPerMultiplyAdd;
  } else if (c > 0 && work == Work::kConvolution) {
    const Shape& out = plan_.values[program_.outputs(s)[0]].shape;
    double channels = out.rank() > 0 ? static_cast<double>(std::max<int64_t>(1, out.dim(out.rank() - 1))) : 1;
    ns += c / element * (b / element / channels) * kNsPerMultiplyAdd;
  }
  return ns;
}

void Schedule::add_edge(uint32_t from, uint32_t to) {
  if (from < to) edges_.emplace_back(from, to);
}

void Schedule::add_data_edges() {
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    const Instruction& s = program_.instructions[id];
    for (ValueId v : program_.inputs(s)) {
      const InstructionId producer = program_.values[plan_.source(v)].producer;
      if (producer != kNoInstruction) add_edge(node_of(producer), node_of(id));
    }
    for (InstructionId c : program_.controls_of(s)) add_edge(node_of(c), node_of(id));
  }
}

// Whatever touches a variable or keeps a state runs in instruction order.
void Schedule::add_state_edges() {
  uint32_t last = ~uint32_t{0};
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    const Instruction& s = program_.instructions[id];
    if (plan_.modes[id] == InstructionMode::kSkip) continue;
    bool state = s.kind == InstructionKind::kLoop;
    if (s.kind == InstructionKind::kNode) {
      const OpSignature* signature = graph_.type(s.node).signature;
      state |= !signature || signature->is_stateful;
    }
    for (ValueId v : program_.inputs(s)) {
      DType t = program_.values[v].dtype;
      state |= is_ref(t) || t == DType::kResource;
    }
    if (!state) continue;
    if (last != ~uint32_t{0}) add_edge(last, node_of(id));
    last = node_of(id);
  }
}

bool Schedule::worth_it() const {
  constexpr double kMinTotalNs = 40000, kMinMeanNs = 2000, kMinWidth = 1.3;
  std::vector<double> end(nodes_.size(), 0);
  auto sorted = edges_;
  std::sort(sorted.begin(), sorted.end());
  double total = 0, longest = 0;
  int64_t count = 0;
  size_t e = 0;
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    end[n] += cost_ns_[n];
    for (; e < sorted.size() && sorted[e].first == n; ++e)
      end[sorted[e].second] = std::max(end[sorted[e].second], end[n]);
    total += cost_ns_[n];
    count += cost_ns_[n] > 0;
    longest = std::max(longest, end[n]);
  }
  return total > kMinTotalNs && total > kMinMeanNs * static_cast<double>(count) && total > kMinWidth * longest;
}

std::vector<uint8_t> Schedule::lanes() const {
  std::vector<uint8_t> lane_of_node(nodes_.size(), 0), continued(nodes_.size(), 0);
  std::vector<uint32_t> source(nodes_.size(), ~uint32_t{0});
  for (auto [from, to] : edges_) {
    if (source[to] == ~uint32_t{0} && cost_ns_[from] > 0) source[to] = from;
  }
  int next = 0;
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    if (uint32_t s = source[n]; s != ~uint32_t{0} && !continued[s]) {
      continued[s] = 1;
      lane_of_node[n] = lane_of_node[s];
    } else {
      lane_of_node[n] = static_cast<uint8_t>(next++ % kLanes);
    }
  }
  std::vector<uint8_t> lanes(program_.instructions.size());
  for (InstructionId id = 0; id < lanes.size(); ++id) lanes[id] = lane_of_node[node_of(id)];
  return lanes;
}

// A slot may hold an input's bytes (Switch, Identity of a slot), so its readers use those, too.
void Schedule::find_users() {
  users_.assign(program_.values.size(), {});
  std::vector<std::vector<ValueId>> held(program_.values.size());
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    const Instruction& s = program_.instructions[id];
    auto use = [&](ValueId v) {
      if (plan_.values[v].storage == Storage::kBlock) users_[plan_.values[v].buffer].push_back(node_of(id));
      for (ValueId b : held[v]) users_[b].push_back(node_of(id));
    };
    for (ValueId v : program_.inputs(s)) use(v);
    for (ValueId out : program_.outputs(s)) {
      if (plan_.values[out].storage != Storage::kSlot) {
        use(out);
        continue;
      }
      for (ValueId v : program_.inputs(s)) {
        if (plan_.values[v].storage == Storage::kBlock) held[out].push_back(plan_.values[v].buffer);
        held[out].insert(held[out].end(), held[v].begin(), held[v].end());
      }
      std::sort(held[out].begin(), held[out].end());
      held[out].erase(std::unique(held[out].begin(), held[out].end()), held[out].end());
    }
  }
}

void Schedule::order_memory() {
  find_users();
  struct Occupant {
    int64_t end;
    ValueId buffer;
  };
  std::map<std::pair<DeviceId, int64_t>, Occupant> memory;  // by home and offset
  for (ValueId v = 0; v < plan_.values.size(); ++v) {
    const ValuePlan& p = plan_.values[v];
    if (p.storage != Storage::kBlock || p.buffer != v) continue;
    DeviceId home = program_.values[v].home;
    int64_t begin = p.offset;
    int64_t end = begin + std::max<int64_t>(1, static_cast<int64_t>(bytes(v)));
    uint32_t writer = node_of(program_.values[v].producer);
    auto it = memory.upper_bound({home, begin});
    if (it != memory.begin() && std::prev(it)->first.first == home && std::prev(it)->second.end > begin) --it;
    while (it != memory.end() && it->first.first == home && it->first.second < end) {
      const int64_t old_begin = it->first.second;
      const Occupant old = it->second;
      for (uint32_t user : users_[old.buffer]) add_edge(user, writer);
      it = memory.erase(it);
      // The old tensor keeps the bytes at either end that the new one does not take.
      if (old_begin < begin) memory[{home, old_begin}] = {begin, old.buffer};
      if (old.end > end) it = memory.insert_or_assign({home, end}, Occupant{old.end, old.buffer}).first;
    }
    memory[{home, begin}] = {end, v};
  }
}

void Schedule::order_releases(const std::vector<std::vector<ValueId>>& releases) {
  std::vector<uint32_t> releaser(program_.values.size(), ~uint32_t{0});
  for (InstructionId id = 0; id < releases.size(); ++id) {
    for (ValueId v : releases[id]) releaser[v] = node_of(id);
  }
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    for (ValueId in : program_.inputs(program_.instructions[id])) {
      const uint32_t last = releaser[plan_.source(in)];
      if (last != ~uint32_t{0}) add_edge(node_of(id), last);
    }
  }
}

void Schedule::finish() {
  std::sort(edges_.begin(), edges_.end());
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
  first_target_.assign(nodes_.size() + 1, 0);
  num_sources_.assign(nodes_.size(), 0);
  rank_ = cost_ns_;
  for (auto [from, to] : edges_) {
    ++first_target_[from + 1];
    ++num_sources_[to];
    targets_.push_back(to);
  }
  for (size_t n = 0; n < nodes_.size(); ++n) first_target_[n + 1] += first_target_[n];
  for (auto e = edges_.rbegin(); e != edges_.rend(); ++e) {
    rank_[e->first] = std::max(rank_[e->first], cost_ns_[e->first] + rank_[e->second]);
  }
  if (program_.ranks.empty()) return;
  // Measured costs know better.
  std::fill(rank_.begin(), rank_.end(), 0);
  for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
    double& rank = rank_[node_of(id)];
    rank = std::max<double>(rank, program_.ranks[id]);
  }
}

}  // namespace emplace
