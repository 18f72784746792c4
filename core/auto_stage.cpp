// Part of core/pipeline_stage.h: --auto in the stage place: tables of costs, the search, what is made of its answer.
#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "core/auto_problem.h"
#include "core/auto_reporter.h"
#include "core/base/cat.h"
#include "core/base/machine_name.h"
#include "core/base/printable.h"
#include "core/base/program_version.h"
#include "core/base/stop.h"
#include "core/base/suggest.h"
#include "core/base/units.h"
#include "core/cost_choice_again.h"
#include "core/device/device_text.h"
#include "core/machine_costs.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"
#include "core/place/auto/simulator.h"
#include "core/place/by_cost.h"
#include "core/run/thread_pool.h"

namespace emplace {
namespace {

/// What of a table that this machine measured is not so of this run; empty: nothing.
std::string other_than_now(const CostTable& table, const RunOptions& o) {
  const int64_t threads = o.intra_op_threads > 0 ? o.intra_op_threads : ThreadPool::shared().size();
  const auto said = [](const std::string& text) { return text.empty() ? "unknown" : printable(text); };
  if (table.machine != machine_name())
    return cat("measured on '", said(table.machine), "', this is '", machine_name(), '\'');
  if (table.threads != threads)
    return cat("measured with ", counted(table.threads, "thread"), ", this run has ", threads);
  if (table.version != program_version())
    return cat("measured by '", said(table.version), "', this is '", program_version(), '\'');
  return {};
}

/// Every node that the table names is in the graph.
Status check_names(const CostTable& table, const Graph& graph, const std::string& origin) {
  for (const auto& [name, row] : table.nodes) {
    if (graph.find(name) != kNoNode) continue;
    Suggestion near(name);
    for (NodeId n = 0; n < graph.num_nodes(); ++n) near.offer(graph.name(n));
    const std::string hint = near.text();
    return invalid_argument(
        cat(origin, ": nodes: the graph has no node '", printable(name), '\'', hint.empty() ? "" : "; ", hint));
  }
  return ok_status();
}

/// Of the files that --costs names, or of this machine's; `files` gets which.
Result<CostTable> read_tables(const StageContext& c, const Placed& placed, std::vector<std::string>& files) {
  const Graph& graph = placed.file->graph;
  const AutoFlags& o = c.options.placing.automatic;
  CostTable all;
  for (const std::string& path : o.costs) {
    auto read = o.tables->find(path);
    if (read == o.tables->end()) {
      ASSIGN_OR_RETURN(CostTable table, read_cost_file(path));
      read = o.tables->emplace(path, std::move(table)).first;
    }
    const CostTable& table = read->second;
    // Lowering renames nodes, and what a step adds has names that the graph of the placement lacks.
    if (!placed.lowering) RETURN_IF_ERROR(check_names(table, graph, printable(path)).blamed(Blame::kFile));
    all.merge(CostTable(table));
    files.push_back(path);
  }
  if (!o.costs.empty()) return all;
  const std::string own = costs_of_this_machine();
  if (own.empty() || !std::filesystem::exists(own)) return all;
  ASSIGN_OR_RETURN(CostTable table, read_cost_file(own));
  if (const std::string other = other_than_now(table, c.options.run); !other.empty())
    return unavailable(cat(printable(own), ": ", other, "; --costs ", printable(own),
                           " uses it all the same, emplace bench ", printable(c.path), " --save-costs ", printable(own),
                           " measures anew"))
        .blamed(Blame::kDevice);
  files.push_back(own);
  return table;
}

Status with_hint(const StageContext& c, const Status& status) {
  if (status.code() != Code::kUnavailable) return status.blamed(Blame::kUsage);
  const std::string own = costs_of_this_machine();
  const std::string file = own.empty() ? "costs.json" : own;
  return unavailable(cat("--auto: ", status.message(), "; measure: emplace bench ", printable(c.path), " --save-costs ",
                         file, own.empty() ? ", then --costs costs.json" : ""))
      .blamed(Blame::kDevice);
}

/// Beyond the promised memory of the devices, as far as a plan knows, in bytes by device; empty: nothing is.
std::vector<double> memory_short(const StageContext& c, Placed placed, const Placement& placement) {
  constexpr uint32_t kMostNodes = 50'000;  // a plan of more takes longer than the search
  const DeviceSet& devices = *c.found.devices;
  if (placed.file->graph.num_nodes() > kMostNodes || placed.lowering) return {};
  placed.placement = std::make_shared<const Placement>(placement);
  const Result<std::vector<PlannedMemory>> planned = predict_memory(c, placed);
  if (!planned.ok()) return {};
  std::vector<double> lacks(devices.size());
  bool any = false;
  for (DeviceId d = 0; d < planned->size(); ++d) {
    const int64_t limit = promised_memory(devices.at(d));
    const PlannedMemory& memory = (*planned)[d];
    const int64_t peak = memory.peak() + (c.options.run.in_flight - 1) * (memory.block + memory.scratch);
    if (limit <= 0 || !memory.known || peak <= limit) continue;
    lacks[d] = static_cast<double>(peak - limit), any = true;
  }
  return any ? lacks : std::vector<double>{};
}

/// Null: what was found.
const autoplace::Start* picked(AutoPick pick, const autoplace::Solution& solution) {
  switch (pick) {
    case AutoPick::kFound:
      return nullptr;
    case AutoPick::kTensorFlow:
      return &solution.starts.front();
    case AutoPick::kOneDevice:
      return best_single_device(solution);
  }
  return nullptr;
}

void move_groups(const AutoProblem& made, const autoplace::Assignment& at, const std::vector<std::string>& texts,
                 Placement& placement) {
  std::unordered_map<uint32_t, CostChoice> choices;
  for (const uint32_t g : made.problem.free_groups) choices[made.groups[g]] = {at[g], texts[g]};
  choose_by_cost(placement, [&](uint32_t group) -> const CostChoice* {
    const auto choice = choices.find(group);
    return choice == choices.end() ? nullptr : &choice->second;
  });
}

/// The order of a step as the simulator has it, for the executor to keep; `placement` has the nodes where `at` says.
void set_ranks(const AutoProblem& made, const autoplace::Assignment& at, Placement& placement) {
  if (made.problem.goal != autoplace::Goal::kLatency) return;
  autoplace::Simulator simulator(made.problem);
  simulator.run(at, 0);
  placement.ranks.assign(placement.decisions.size(), 0);
  for (uint32_t i = 0; i < made.nodes.size(); ++i)
    placement.ranks[made.nodes[i]] = static_cast<float>(simulator.ranks()[i]);
}

/// Searches until the plan of what was found fits, too: the search knows of variables and constants only.
Status solve_to_fit(const StageContext& c, const Placed& placed, const Placement& original, AutoProblem& made,
                    autoplace::Solution& solution) {
  autoplace::SolveOptions o;
  o.time_limit_s = c.options.placing.automatic.time_limit_s;
  o.seed = static_cast<uint64_t>(c.options.run.seed);
  o.stop = stop_requested;
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    solution = autoplace::solve(made.problem, o);
    RETURN_IF_ERROR(stop_status());
    if (!solution.fits || solution.kept_original) return ok_status();
    Placement moved = original;
    for (size_t i = 0; i < made.nodes.size(); ++i)
      moved.decisions[made.nodes[i]].device = solution.found.at[made.problem.group[i]];
    set_ranks(made, solution.found.at, moved);
    const std::vector<double> lacks = memory_short(c, placed, moved);
    if (lacks.empty()) return ok_status();
    for (uint16_t d = 0; d < lacks.size(); ++d) {
      if (lacks[d] <= 0) continue;
      const double used = made.problem.memory_used(solution.found.at, d);
      made.problem.machine.units[d].memory = std::max(1.0, used - lacks[d]);
    }
  }
  solution.fits = false;
  return ok_status();
}

/// By node: does a step run it? Empty where that is not known.
std::vector<char> nodes_of_a_step(const StageContext& c, const Placed& placed) {
  if (placed.lowering) return {};
  Problems of_a_run;
  Result<RunRequest> request = resolve_request(*placed.file, c.options.run, placed.gradients, of_a_run);
  if (!request.ok()) return {};
  request->init.clear();
  if (request->fetches.empty() && request->targets.empty()) return {};
  return needed_nodes(placed.file->graph, *request);
}

}  // namespace

Status place_by_cost(StageContext& c, const Placed& placed, Placement& placement) {
  const AutoFlags& flags = c.options.placing.automatic;
  if (!flags.goal) return ok_status();
  std::vector<std::string> files;
  ASSIGN_OR_RETURN(const CostTable table, read_tables(c, placed, files));
  AutoMachine machine;
  machine.processors = ThreadPool::shared().size();
  machine.given = c.options.run.inter_op_threads > 0;
  machine.cpu_lanes = machine.given ? static_cast<int>(c.options.run.inter_op_threads) : machine.processors;
  Result<AutoProblem> made =
      auto_problem(*placed.file, *c.found.devices, placement, table, machine, *flags.goal, nodes_of_a_step(c, placed));
  if (!made.ok()) return with_hint(c, made.status());
  for (const std::string& doubt : made->doubts) c.log.warning(cat("--auto: ", doubt));
  autoplace::Solution solution;
  if (flags.solution && !flags.solution->starts.empty()) {
    solution = *flags.solution;
  } else {
    RETURN_IF_ERROR(solve_to_fit(c, placed, placement, *made, solution));
    if (flags.solution) *flags.solution = solution;
  }
  if (!solution.fits)
    return resource_exhausted("--auto: no placement was found whose memory fits the devices").blamed(Blame::kPlacement);
  AutoReporter reporter(placed.file->graph, *c.found.devices, *made, solution);
  const autoplace::Start* start = picked(flags.pick, solution);
  const autoplace::Assignment& at = start ? start->found.at : solution.found.at;
  if (start) {
    const std::string text = cat("measured faster than what costs chose: ", reporter.title_of(*start));
    if (flags.pick != AutoPick::kTensorFlow)
      move_groups(*made, at, std::vector<std::string>(made->problem.num_groups, text), placement);
  } else if (!solution.kept_original) {
    move_groups(*made, at, reporter.reasons(), placement);
  }
  // TensorFlow's placement is measured as it runs without --auto, in its own order.
  if (flags.pick != AutoPick::kTensorFlow) set_ranks(*made, at, placement);
  c.found.automatic = std::make_shared<const AutoReport>(reporter.report(files, c.options.run.seed));
  return stop_status();
}

PlaceByCost cost_choice_again(const StageContext& c, const Placed& placed) {
  if (!c.options.placing.automatic.goal) return {};
  return [&c, &placed](const PlaceOptions& options, Placement& placement) {
    Log silent;
    silent.set_level(LogLevel::kOff);
    StageContext again(c.options, c.path, silent, c.stop);
    again.options.placing.automatic.solution = nullptr;
    again.found.devices = placed.devices;
    again.model = c.model;
    Placed changed = placed;
    changed.options = std::make_shared<const PlaceOptions>(options);
    return place_by_cost(again, changed, placement);
  };
}

}  // namespace emplace
