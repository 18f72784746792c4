// Part of core/pipeline.h: The stage lower: functions and control flow become nodes, before a placement, and once more
// for what runs.
#include "core/function_stage.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"
#include "core/place/place_in_order.h"
#include "core/place/placer_state.h"

namespace emplace {
namespace {

/// The graph of a step, typed, with its gradients.
struct MadeStep {
  Lowered lowered;
  NamedTensors gradients;
};

Result<Validated> lowered_graph(StageContext& c, const Validated& validated) {
  Lowered lowered = lower_file(validated.file, c.options.functions, c.found.problems);
  RETURN_IF_ERROR(first_problem(c.found.problems));
  Validated made;
  made.file = std::move(lowered.file);
  made.lowering = std::make_shared<const LoweringFacts>(
      LoweringFacts{validated.file, std::move(lowered.order), std::move(lowered.origins)});
  return made;
}

Result<MadeStep> make_step(StageContext& c, const Placed& placed, const StepRoots& roots, bool to_run) {
  MadeStep made;
  made.lowered = lower_step(placed.file, *placed.placement, placed.placement->state->order(), *placed.devices, roots,
                            c.options.functions, to_run, c.found.problems);
  RETURN_IF_ERROR(first_problem(c.found.problems));
  if (roots.whole) return made;
  GraphFile& file = *made.lowered.file;
  const std::vector<std::string> names = names_of_nodes(file.graph);
  RETURN_IF_ERROR(check_flag_gradients(file, c.options.run));
  made.gradients = add_fetched_gradients(file, fetch_names(*placed.lowering->loaded, c.options.run),
                                         c.options.run.colocate_gradients, c.found.problems, nullptr);
  RETURN_IF_ERROR(first_problem(c.found.problems));
  if (!made.gradients.empty()) {  // they came in between
    made.lowered.origins = origins_by_name(made.lowered.origins, names, file.graph);
    made.lowered.order.clear();
  }
  return made;
}

std::shared_ptr<const LoweringFacts> facts_of_step(const Placed& placed, Lowered& lowered) {
  auto facts = std::make_shared<LoweringFacts>(
      LoweringFacts{placed.lowering->loaded, std::move(lowered.order), std::move(lowered.origins)});
  facts->step = std::make_shared<const StepOrigin>(StepOrigin{placed.file, placed.options, placed.placement});
  return facts;
}

Result<Placed> lower_and_place(StageContext& c, const Validated& validated) {
  ASSIGN_OR_RETURN(const Validated lowered, lower_graph(c, validated));
  return run_stage(
      c, Stage::kPlace, Blame::kPlacement, [&] { return placed_graph(c, lowered, true); }, dump_made);
}

}  // namespace

bool has_functions(const Loaded& loaded) { return has_functional_nodes(*loaded.file); }

Result<Validated> lower_graph(StageContext& c, const Validated& validated) {
  if (!has_functions(validated)) return validated;
  return run_stage(
      c, Stage::kLower, Blame::kFile, [&] { return lowered_graph(c, validated); }, dump_lowered);
}

Result<Runnable> lower_to_run(StageContext& c, const Validated& validated, const RunRequest& request) {
  ASSIGN_OR_RETURN(const Placed placed, lower_and_place(c, validated));
  const Graph& from = validated.file->graph;
  const auto body = [&]() -> Result<Runnable> {
    ASSIGN_OR_RETURN(MadeStep step, make_step(c, placed, find_roots(request, from, placed.file->graph, true), true));
    Runnable made;
    made.file = step.lowered.file;
    made.request =
        request_of_step(request, from, *made.file, fetch_names(*validated.file, c.options.run), step.gradients);
    name_by_keys(c.options.run, made.request);
    made.gradients = std::move(step.gradients);
    made.lowering = facts_of_step(placed, step.lowered);
    check_runnable(*made.file, made.request, c.found.problems);
    RETURN_IF_ERROR(first_problem(c.found.problems));
    return made;
  };
  return run_stage(c, Stage::kLower, Blame::kFile, body, dump_lowered);
}

Result<Validated> lower_to_train(StageContext& c, const Validated& validated, const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const Placed placed, lower_and_place(c, validated));
  StepRoots roots;
  roots.whole = names.empty();
  for (const std::string& name : names) {
    if (const NodeId node = placed.file->graph.find(name); node != kNoNode) roots.fetched.push_back(node);
  }
  ASSIGN_OR_RETURN(MadeStep step, make_step(c, placed, roots, true));
  step.lowered.order.clear();  // what training adds comes in between
  Validated made;
  made.file = step.lowered.file;
  made.lowering = facts_of_step(placed, step.lowered);
  return made;
}

Status add_step(StageContext& c, Placed& placed) {
  if (!placed.lowering || c.options.functions.mode != FunctionMode::kAuto) return ok_status();
  const GraphFile& loaded = *placed.lowering->loaded;
  if (c.options.run.fetch.empty() && !loaded.has_fetch) return ok_status();
  const auto body = [&]() -> Result<std::shared_ptr<const StepGraph>> {
    ASSIGN_OR_RETURN(const RunRequest request, resolve_before_gradients(loaded, c.options.run, c.found.problems));
    const StepRoots roots = find_roots(request, loaded.graph, placed.file->graph, false);
    ASSIGN_OR_RETURN(MadeStep made, make_step(c, placed, roots, false));
    auto step = std::make_shared<StepGraph>();
    step->file = made.lowered.file;
    step->origins = std::move(made.lowered.origins);
    step->options = step_place_options(*placed.options);
    step->request =
        request_of_step(request, loaded.graph, *step->file, fetch_names(loaded, c.options.run), made.gradients);
    Result<Placement> placement =
        place_in_order(*step->file, *placed.devices, step->options, made.lowered.order, c.found.offenders, nullptr);
    if (!placement.ok()) return placement.status().blamed(Blame::kPlacement);
    step->placement = placement.take();
    const std::vector<Endpoint> fed = fed_tensors(*step->file, c.options.run);
    step->copies = plan_copies(*step->file, *placed.devices, step->placement, &fed);
    return std::shared_ptr<const StepGraph>(std::move(step));
  };
  ASSIGN_OR_RETURN(placed.step, run_stage(c, Stage::kLower, Blame::kFile, body, [](const auto&) { return ""; }));
  c.stage = Stage::kPlace;
  return ok_status();
}

}  // namespace emplace
