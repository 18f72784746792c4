/// How a stage of the pipeline is run: timed, logged, its failures blamed, what it made printed if --dump asks for it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/base/heap_limit.h"
#include "core/base/stop.h"
#include "core/pipeline_values.h"

namespace emplace {

/// Says and counts how long a stage took.
void end_stage(StageContext& context, double seconds);

/// Only what steps do is done by several threads.
template <class Body>
auto within_heap_limit(StageContext& context, const Body& body) -> decltype(body()) {
  if (context.stage == Stage::kExecute) {
    const HeapLimit no_limit = HeapLimit::none();
    return body();
  }
  try {
    const HeapLimit limit;
    return body();
  } catch (const HeapOverLimit& refused) {
    context.found.problems = {};  // those that were found until then are not what it ends with
    return resource_exhausted(refused.what());
  }
}

/// Calls `body`. A failure that does not say whose fault it is gets `blame`. `dump` makes text of the stage's value.
template <class Body, class Dump>
auto run_stage(StageContext& context, Stage stage, Blame blame, const Body& body, const Dump& dump)
    -> decltype(body()) {
  context.stage = stage;
  const auto start = std::chrono::steady_clock::now();
  auto made = within_heap_limit(context, body);
  end_stage(context, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  // What a stage made is of no use once it was asked to stop, and neither is what it complained of.
  if (Status stopped = stop_status(); stage != Stage::kExecute && !stopped.ok()) {
    context.found.problems = {};
    return stopped;
  }
  if (!made.ok()) return made.status().blamed(blame);
  if (context.options.dump == stage) context.log.info(dump(*made));
  return made;
}

/// The first of the problems, for where one status has to do.
Status first_problem(const Problems& problems);

/// Of a file that an option names: with the option before the message. A name that cannot be written to is the command
/// line's fault.
Status written(const Status& status, std::string_view option);

/// Types, shapes and names of a file that is to be run or, if `misfits` is not null, planned for; `misfits` gets what
/// TensorFlow notices only in a run.
Result<Validated> validated_graph(StageContext& context, const Loaded& loaded, Problems* misfits);
/// What follows once the file itself has no problem: the file's config, fetches and gradients.
Result<Validated> finish_validation(StageContext& context, const Loaded& loaded, Problems* misfits);

/// The stage place, for the whole graph or a step's.
Result<Placed> placed_graph(StageContext& context, const Validated& validated, bool runs);

/// Moves groups of `placement`, which TensorFlow's rule made of `placed` (its own placement is not looked at), to where
/// the tables of costs say; what was found out goes to context.found.automatic. Does nothing without --auto.
/// Unavailable, exit 5: there are no costs, with the command that measures them. InvalidArgument, exit 3: a table that
/// cannot be one of this graph.
Status place_by_cost(StageContext& context, const Placed& placed, Placement& placement);

/// Are there functions to lower? Then what runs, gradients too, is known only once that is done.
bool has_functions(const Loaded& loaded);
/// The stage lower, for a placement: control flow becomes nodes, calls as --functions says. Nothing if there is none.
Result<Validated> lower_graph(StageContext& context, const Validated& validated);
/// For a run: lowers, places, and makes the step of it. `request` is that of the file, without gradients.
Result<Runnable> lower_to_run(StageContext& context, const Validated& validated, const RunRequest& request);
/// The same for a graph that is to be trained: of a signature, the part that the nodes `names` need; else all of it.
Result<Validated> lower_to_train(StageContext& context, const Validated& validated,
                                 const std::vector<std::string>& names);
/// Beside a placed graph whose functions were lowered: the step that the fetches ask for.
Status add_step(StageContext& context, Placed& placed);

/// Of a step that failed: says also where a node comes from that the file does not have; context.found gets what helps
/// against a variable without a value.
Status told_of_step(StageContext& context, const Status& status, const Placed& placed);

/// Gives the variables of a SavedModel the values of its checkpoint; of any other file, does nothing.
Status restore_model(const StageContext& context, const Planned& planned, const RunRequest& request, Steps steps);

/// For make_device_set(): of this process.
const char* environment_variable(const char* name);

/// Sends text to where --log-device-placement says.
Status write_log_lines(const StageContext& context, const std::string& text);

/// For --dump: what the stage made.
std::string dump_text(const Loaded& loaded);
std::string dump_text(const Validated& validated);
std::string dump_lowered(const Validated& validated);
std::string dump_text(const Placed& placed);
std::string dump_text(const Partitioned& partitioned);
std::string dump_text(const Planned& planned);

inline constexpr auto dump_made = [](const auto& made) { return dump_text(made); };

}  // namespace emplace
