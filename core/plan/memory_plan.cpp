#include "core/plan/memory_plan.h"

#include <algorithm>

#include "core/plan/block_layout.h"
#include "core/plan/output_rule.h"

namespace emplace {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(const Graph& graph, const Program& program, Plan& plan, const std::vector<uint8_t>& lanes)
      : graph_(graph), program_(program), plan_(plan), lanes_(lanes) {
    if (!lanes.empty()) num_lanes_ = 1 + *std::max_element(lanes.begin(), lanes.end());
    layouts_.resize(plan.devices.size() * num_lanes_);
  }

  void run() {
    group_of_.assign(program_.instructions.size(), nullptr);
    for (const FusedGroup& g : plan_.groups) {
      for (InstructionId s : g.instructions) group_of_[s] = &g;
      if (g.head != kNoInstruction) group_of_[g.head] = &g;
      if (g.reduction != kNoInstruction) group_of_[g.reduction] = &g;
      if (g.follower != kNoInstruction) group_of_[g.follower] = &g;
    }
    find_last_uses();
    drop_tile_values();
    lay_out();
  }

 private:
  ValuePlan& at(ValueId v) { return plan_.values[v]; }

  // Backwards: what shares or may share an input's bytes keeps them.
  void find_last_uses() {
    auto end = static_cast<InstructionId>(program_.instructions.size());
    needed_until_.assign(plan_.values.size(), 0);
    for (ValueId fetched : program_.fetches) {
      const ValueId v = plan_.source(fetched);
      needed_until(v) = end;
      at(v).last_use = end;
    }
    for (InstructionId id = end; id-- > 0;) {
      const Instruction& s = program_.instructions[id];
      if (s.kind == InstructionKind::kLoop || s.kind == InstructionKind::kConstant || is_shared(s)) continue;
      if (is_other_name(id)) continue;
      InstructionId until = id;
      if (output_rule(graph_, program_, s) != OutputRule::kOwn) {
        for (ValueId v : program_.outputs(s)) until = std::max(until, needed_until(v));
      }
      // What a loop reads may come out of it again, at any distance, and so may what is kept in a stack or a list.
      if (s.control == Control::kEnter || keeps_inputs(s)) until = end;
      for (ValueId in : program_.inputs(s)) {
        const ValueId v = plan_.source(in);
        at(v).last_use = std::max(at(v).last_use, id);
        needed_until(v) = std::max(needed_until(v), until);
      }
    }
    for (ValueId v = 0; v < plan_.values.size(); ++v) {
      if (at(v).storage == Storage::kBlock) at(v).last_use = needed_until(v);
    }
  }
  // A read that is not launched.
  bool is_shared(const Instruction& s) const {
    return s.num_outputs == 1 && plan_.values[program_.outputs(s)[0]].same_as != kNoValue;
  }
  // Its outputs lie where its inputs do, and nothing is left to run: who reads them counts, it does not.
  bool is_other_name(InstructionId id) const {
    const Instruction& s = program_.instructions[id];
    return plan_.modes[id] == InstructionMode::kSkip && s.num_outputs > 1 &&
           output_rule(graph_, program_, s) == OutputRule::kSharesInput;
  }
  bool keeps_inputs(const Instruction& s) const {
    if (s.kind == InstructionKind::kNode && graph_.traits(s.node).keeps_input) return true;
    const auto outputs = program_.outputs(s);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](ValueId v) { return program_.values[v].dtype == DType::kVariant; });
  }
  InstructionId& needed_until(ValueId v) { return needed_until_[at(v).storage == Storage::kBlock ? at(v).buffer : v]; }

  int64_t bytes_of(ValueId v) {
    return at(v).shape.num_elements() * static_cast<int64_t>(storage_size(program_.values[v].dtype));
  }

  // What only a group's own instructions read never reaches memory, but for the rows that its follower reads.
  void drop_tile_values() {
    for (const FusedGroup& g : plan_.groups) {
      ValueId followed = kNoValue;
      if (g.follower != kNoInstruction) followed = at(program_.inputs(program_.instructions[g.follower])[0]).buffer;
      for (InstructionId id : g.instructions) {
        ValueId out = program_.outputs(program_.instructions[id])[0];
        if (at(out).buffer == out && out != followed && at(out).last_use <= g.last()) at(out).storage = Storage::kTile;
      }
    }
    for (ValuePlan& p : plan_.values) {
      if (p.storage == Storage::kBlock && at(p.buffer).storage == Storage::kTile) p.storage = Storage::kTile;
    }
  }

  // The first and the last instruction of the moment that an instruction belongs to.
  InstructionId begin_of(InstructionId id) const { return group_of_[id] ? group_of_[id]->first() : id; }
  InstructionId end_of(InstructionId id) const {
    return id < group_of_.size() && group_of_[id] ? group_of_[id]->last() : id;
  }
  InstructionId birth(ValueId v) const { return begin_of(program_.values[v].producer); }
  InstructionId death(ValueId v) { return end_of(std::max(at(v).last_use, program_.values[v].producer)); }

  // Forwards: offsets taken when a producer's moment begins, given back when the last reader's has ended.
  void lay_out() {
    expiring_.resize(program_.instructions.size() + 1);
    peaks_.resize(plan_.devices.size());
    taken_.resize(plan_.devices.size());
    taken_over_.assign(plan_.values.size(), kNoValue);
    for (InstructionId id = 0; id < program_.instructions.size(); ++id) {
      if (begin_of(id) != id) {
        if (end_of(id) == id) expire(id);
        continue;
      }
      if (const FusedGroup* g = group_of_[id]) {
        if (g->head != kNoInstruction) take_outputs(g->head);
        for (InstructionId s : g->instructions) take_outputs(s);
        if (g->reduction != kNoInstruction) take_outputs(g->reduction);
        if (g->follower != kNoInstruction) take_outputs(g->follower);
      } else {
        take_outputs(id);
      }
      if (end_of(id) == id) expire(id);
    }
    join_lanes();
    report_peaks();
  }

  BlockLayout& layout_of(ValueId v) {
    size_t lane = lanes_.empty() ? 0 : lanes_[program_.values[v].producer];
    return layouts_[program_.values[v].home * num_lanes_ + lane];
  }

  // The lanes of a device lie one behind the other; offsets become the device's.
  void join_lanes() {
    std::vector<int64_t> base(layouts_.size());
    for (size_t d = 0; d < plan_.devices.size(); ++d) {
      for (size_t lane = 0; lane < num_lanes_; ++lane) {
        base[d * num_lanes_ + lane] = plan_.devices[d].bytes;
        plan_.devices[d].bytes += layouts_[d * num_lanes_ + lane].size();
      }
    }
    for (ValueId v = 0; v < plan_.values.size(); ++v) {
      if (at(v).storage == Storage::kBlock && at(v).buffer == v)
        at(v).offset += base[static_cast<size_t>(&layout_of(v) - layouts_.data())];
    }
    for (ValueId v = 0; v < plan_.values.size(); ++v) {
      if (at(v).storage == Storage::kBlock) at(v).offset = at(at(v).buffer).offset;
    }
  }

  void take_outputs(InstructionId id) {
    const Instruction& s = program_.instructions[id];
    if (s.kind == InstructionKind::kLoop) return;
    for (ValueId v : program_.outputs(s)) {
      if (at(v).storage == Storage::kBlock && at(v).buffer == v && !overwrite(id, s, v)) take(v);
    }
  }

  void expire(InstructionId id) {
    for (ValueId v : expiring_[id]) {
      if (taken_over_[v] != kNoValue) continue;
      layout_of(v).give_back(at(v).offset, bytes_of(v));
      taken_[program_.values[v].home] -= BlockLayout::rounded(bytes_of(v));
    }
  }

  // An elementwise op writes over an input that dies with it. In a group, tile by tile, only over one that no later
  // instruction of the group reads. Behind a product also over the product, but not over what the product still reads.
  bool overwrite(InstructionId id, const Instruction& s, ValueId out) {
    if (s.kind != InstructionKind::kNode || out != program_.outputs(s)[0]) return false;
    if (const OpDef* def = graph_.type(s.node).def; !def || !def->may_overwrite()) return false;
    for (ValueId in : program_.inputs(s)) {
      if (at(in).storage != Storage::kBlock || at(at(in).buffer).last_use != id || !(at(in).shape == at(out).shape))
        continue;
      if (program_.values[in].dtype == program_.values[out].dtype && take_over(id, at(in).buffer, out)) return true;
    }
    const FusedGroup* g = group_of_[id];
    if (!g || g->head == kNoInstruction || id == g->head) return false;
    ValueId product = program_.outputs(program_.instructions[g->head])[0];
    bool fits = at(product).storage == Storage::kBlock && at(product).last_use <= id &&
                bytes_of(product) == bytes_of(out) &&
                storage_size(program_.values[product].dtype) == storage_size(program_.values[out].dtype);
    return fits && take_over(id, product, out);
  }

  bool take_over(InstructionId id, ValueId buffer, ValueId out) {
    if (program_.values[buffer].home != program_.values[out].home || &layout_of(buffer) != &layout_of(out))
      return false;
    if (taken_over_[buffer] != kNoValue || read_by_head(group_of_[id], buffer)) return false;
    taken_over_[buffer] = out;
    at(out).offset = at(buffer).offset;
    expiring_[death(out)].push_back(out);
    return true;
  }

  bool read_by_head(const FusedGroup* g, ValueId buffer) {
    if (!g || g->head == kNoInstruction) return false;
    auto inputs = program_.inputs(program_.instructions[g->head]);
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](ValueId v) { return at(v).storage == Storage::kBlock && at(v).buffer == buffer; });
  }

  void take(ValueId v) {
    DeviceId home = program_.values[v].home;
    at(v).offset = layout_of(v).take(bytes_of(v));
    expiring_[death(v)].push_back(v);
    taken_[home] += BlockLayout::rounded(bytes_of(v));
    if (taken_[home] > peaks_[home].bytes) peaks_[home] = {taken_[home], birth(v)};
  }

  // The tensors that were live when most memory was taken, of each device. Values are looked through once: a cluster
  // has thousands of devices.
  void report_peaks() {
    for (ValueId v = 0; v < plan_.values.size(); ++v) {
      const ValuePlan& p = plan_.values[v];
      if (p.storage != Storage::kBlock || p.buffer != v) continue;
      const DeviceId home = program_.values[v].home;
      const InstructionId peak = peaks_[home].instruction;
      if (peak == kNoInstruction) continue;
      const bool given_up = taken_over_[v] != kNoValue && birth(taken_over_[v]) <= peak;
      if (birth(v) <= peak && death(v) >= peak && !given_up)
        plan_.devices[home].live_at_peak.emplace_back(v, BlockLayout::rounded(bytes_of(v)));
    }
    for (DevicePlan& device : plan_.devices) keep_largest(device);
  }

  static void keep_largest(DevicePlan& device) {
    auto largest = [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    };
    constexpr size_t kShown = 20;
    size_t shown = std::min(kShown, device.live_at_peak.size());
    std::partial_sort(device.live_at_peak.begin(), device.live_at_peak.begin() + static_cast<std::ptrdiff_t>(shown),
                      device.live_at_peak.end(), largest);
    device.live_at_peak.resize(shown);
  }

  struct Peak {
    int64_t bytes = 0;
    InstructionId instruction = kNoInstruction;
  };

  const Graph& graph_;
  const Program& program_;
  Plan& plan_;
  const std::vector<uint8_t>& lanes_;
  size_t num_lanes_ = 1;
  std::vector<BlockLayout> layouts_;            // by device, then lane
  std::vector<int64_t> taken_;                  // by device
  std::vector<std::vector<ValueId>> expiring_;  // by instruction: buffers free after it
  std::vector<ValueId> taken_over_;             // by buffer: the output that is written over it; or kNoValue
  std::vector<Peak> peaks_;                     // by device
  std::vector<const FusedGroup*> group_of_;     // by instruction
  std::vector<InstructionId> needed_until_;  // by buffer or slot value: the last instruction that may look at its bytes
};

}  // namespace

void plan_memory(const GraphFile& file, const Program& program, Plan& plan, const std::vector<uint8_t>& lanes) {
  MemoryPlanner(file.graph, program, plan, lanes).run();
}

}  // namespace emplace
