// Memory: which values live in a block, how long, where.
#include "core/plan/plan.h"

#include <algorithm>

#include "core/plan/block_layout.h"
#include "core/plan/settle.h"

namespace emplace {
namespace {

class MemoryPlanner {
 public:
  MemoryPlanner(const Graph& graph, const Program& program, Plan& plan)
      : graph_(graph), program_(program), plan_(plan), layouts_(plan.devices.size()) {}

  void run() {
    for (StepId s = 0; s < program_.steps.size(); ++s) choose_storage(s);
    find_last_uses();
    lay_out();
  }

 private:
  ValuePlan& at(ValueId v) { return plan_.values[v]; }

  enum class Output { kOwn, kSharesInput, kProvided };
  Output output_rule(const Step& s) const {
    if (s.kind == StepKind::kCopy) {
      const Value& from = program_.values[program_.inputs(s)[0]];
      const Value& to = program_.values[program_.outputs(s)[0]];
      // A reference is read, hence provided; between CPUs nothing moves.
      if (is_ref(from.dtype)) return Output::kProvided;
      return from.home == to.home ? Output::kSharesInput : Output::kOwn;
    }
    const OpDef* def = graph_.type(s.node).def;
    return def->forwards() ? Output::kSharesInput : def->provides() ? Output::kProvided : Output::kOwn;
  }

  static bool plain(DType t) { return t != DType::kString && t != DType::kVariant && t != DType::kResource && !is_ref(t); }

  void choose_storage(StepId id) {
    StepMode& mode = plan_.modes[id];
    const Step& s = program_.steps[id];
    if (mode != StepMode::kPlanned) return;
    if (s.kind == StepKind::kNode && !s.may_be_dead && graph_.type(s.node).op == "NoOp") {
      mode = StepMode::kSkip;
      return;
    }
    bool inputs_in_place = true;
    for (ValueId v : program_.inputs(s)) inputs_in_place &= at(v).storage != Storage::kSlot;
    switch (output_rule(s)) {
      case Output::kOwn: {
        bool all = true;
        for (ValueId v : program_.outputs(s)) all &= plain(program_.values[v].dtype);
        for (ValueId v : program_.outputs(s)) {
          if (all) place_in_block(v);
        }
        if (all && inputs_in_place && !s.may_be_dead) mode = StepMode::kDirect;
        break;
      }
      case Output::kSharesInput: {
        ValueId in = program_.inputs(s)[0], out = program_.outputs(s)[0];
        bool same_memory = program_.values[in].home == program_.values[out].home;
        if (!same_memory || at(in).storage == Storage::kSlot || s.may_be_dead) break;
        if (at(in).storage == Storage::kFixed) {
          plan_.tensors.push_back(at(in).known->reshaped(at(out).shape));
          at(out).known = &plan_.tensors.back();
          at(out).storage = Storage::kFixed;
        } else {
          at(out).storage = Storage::kBlock;
          at(out).buffer = at(in).buffer;
        }
        mode = StepMode::kSkip;
        break;
      }
      case Output::kProvided: break;
    }
  }

  void place_in_block(ValueId v) {
    at(v).storage = Storage::kBlock;
    at(v).buffer = v;
  }

  // Backwards: what shares or may share an input's bytes keeps them.
  void find_last_uses() {
    auto end = static_cast<StepId>(program_.steps.size());
    needed_until_.assign(plan_.values.size(), 0);
    for (ValueId v : program_.fetches) {
      needed_until(v) = end;
      at(v).last_use = end;
    }
    for (StepId id = end; id-- > 0;) {
      const Step& s = program_.steps[id];
      if (s.kind == StepKind::kLoop || s.kind == StepKind::kConstant) continue;
      StepId until = id;
      if (output_rule(s) != Output::kOwn) {
        for (ValueId v : program_.outputs(s)) until = std::max(until, needed_until(v));
      }
      // What a loop reads may come out of it again, at any distance.
      if (s.control == Control::kEnter) until = end;
      for (ValueId v : program_.inputs(s)) {
        at(v).last_use = std::max(at(v).last_use, id);
        needed_until(v) = std::max(needed_until(v), until);
      }
    }
    for (ValueId v = 0; v < plan_.values.size(); ++v) {
      if (at(v).storage == Storage::kBlock) at(v).last_use = needed_until(v);
    }
  }
  StepId& needed_until(ValueId v) { return needed_until_[at(v).storage == Storage::kBlock ? at(v).buffer : v]; }

  int64_t bytes_of(ValueId v) {
    return at(v).shape.num_elements() * static_cast<int64_t>(storage_size(program_.values[v].dtype));
  }

  // Forwards: offsets taken at the producer, given back after the last use.
  void lay_out() {
    expiring_.resize(program_.steps.size() + 1);
    live_.resize(layouts_.size());
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const Step& s = program_.steps[id];
      if (s.kind != StepKind::kLoop) {
        for (ValueId v : program_.outputs(s)) {
          if (at(v).storage == Storage::kBlock && at(v).buffer == v && !overwrite(id, s, v)) take(v);
        }
      }
      for (ValueId v : expiring_[id]) give_back(v);
    }
    for (ValueId v = 0; v < plan_.values.size(); ++v) {
      if (at(v).storage == Storage::kBlock) at(v).offset = at(at(v).buffer).offset;
    }
    for (size_t d = 0; d < layouts_.size(); ++d) {
      DevicePlan& device = plan_.devices[d];
      device.bytes = layouts_[d].size();
      report_peak(static_cast<DeviceId>(d), device);
    }
  }

  // An elementwise op writes over an input that dies here.
  bool overwrite(StepId id, const Step& s, ValueId out) {
    if (s.kind != StepKind::kNode || out != program_.outputs(s)[0] || !graph_.type(s.node).def->may_overwrite()) return false;
    for (ValueId in : program_.inputs(s)) {
      if (at(in).storage != Storage::kBlock || program_.values[in].home != program_.values[out].home) continue;
      ValueId buffer = at(in).buffer;
      if (at(buffer).last_use != id || !(at(in).shape == at(out).shape)) continue;
      if (storage_size(program_.values[in].dtype) != storage_size(program_.values[out].dtype)) continue;
      auto& dying = expiring_[id];
      auto it = std::find(dying.begin(), dying.end(), buffer);
      if (it == dying.end()) continue;
      dying.erase(it);
      at(out).offset = at(buffer).offset;
      expiring_[expiry(out)].push_back(out);
      return true;
    }
    return false;
  }

  StepId expiry(ValueId v) { return std::max(at(v).last_use, program_.values[v].producer); }

  void take(ValueId v) {
    DeviceId home = program_.values[v].home;
    at(v).offset = layouts_[home].take(bytes_of(v));
    expiring_[expiry(v)].push_back(v);
    if (layouts_[home].taken() > live_[home].bytes) live_[home] = {layouts_[home].taken(), program_.values[v].producer};
  }

  void give_back(ValueId v) { layouts_[program_.values[v].home].give_back(at(v).offset, bytes_of(v)); }

  // Who was alive when most was taken.
  void report_peak(DeviceId d, DevicePlan& device) {
    StepId peak = live_[d].step;
    if (peak == kNoStep) return;
    for (ValueId v = 0; v < plan_.values.size(); ++v) {
      const ValuePlan& p = plan_.values[v];
      if (p.storage != Storage::kBlock || p.buffer != v || program_.values[v].home != d) continue;
      if (program_.values[v].producer <= peak && expiry(v) >= peak) device.live_at_peak.emplace_back(v, BlockLayout::rounded(bytes_of(v)));
    }
    auto largest = [](const auto& a, const auto& b) { return a.second != b.second ? a.second > b.second : a.first < b.first; };
    constexpr size_t kShown = 20;
    size_t shown = std::min(kShown, device.live_at_peak.size());
    std::partial_sort(device.live_at_peak.begin(), device.live_at_peak.begin() + static_cast<std::ptrdiff_t>(shown),
                      device.live_at_peak.end(), largest);
    device.live_at_peak.resize(shown);
  }

  struct Peak {
    int64_t bytes = 0;
    StepId step = kNoStep;
  };

  const Graph& graph_;
  const Program& program_;
  Plan& plan_;
  std::vector<BlockLayout> layouts_;             // by device
  std::vector<std::vector<ValueId>> expiring_;   // by step: buffers free after it
  std::vector<Peak> live_;                       // by device
  std::vector<StepId> needed_until_;             // by buffer or slot value: the last step that may look at its bytes
};

}  // namespace

void plan_memory(const GraphFile& file, const Program& program, Plan& plan) {
  MemoryPlanner(file.graph, program, plan).run();
}

Result<Plan> make_plan(const GraphFile& file, const DeviceSet& devices, const Program& program,
                       const std::vector<Tensor>& feeds) {
  Plan plan;
  plan.devices.resize(devices.size());
  RETURN_IF_ERROR(settle_shapes(file, devices, program, feeds, plan));
  plan_memory(file, program, plan);
  return plan;
}

}  // namespace emplace
