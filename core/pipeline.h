/// The stages that lead from a graph file to results: load, validate, place, partition, plan, execute. Each is a
/// function from the value of the one before to its own; a subcommand calls them up to the one that it wants, and
/// prints what that made. Training is core/training.h, which joins in at validate.
#pragma once

#include <functional>
#include <vector>

#include "core/pipeline_values.h"

namespace emplace {

/// Reads the file, whatever its format.
Result<Loaded> load_graph(StageContext& context);
/// For a placement: what TensorFlow notices only in a run is a warning.
Result<Validated> validate_graph(StageContext& context, const Loaded& loaded);
/// For a run: ops that emplace cannot run are problems of the file, if a fetch needs them. `inputs`: of a signature
/// that is only looked at, they need not be fed.
enum class Inputs : uint8_t { kFed, kOpen };
Result<Runnable> validate_run(StageContext& context, const Loaded& loaded, Inputs inputs = Inputs::kFed);
/// For the sake of the placement; described devices will do.
Result<Placed> place_graph(StageContext& context, const Validated& validated);
/// On devices of this machine, or simulated ones.
Result<Placed> place_to_run(StageContext& context, const Validated& validated);
/// Adds the copies between devices, looks at the gates, writes --placement-out.
Result<Partitioned> partition_graph(StageContext& context, const Placed& placed);
/// Memory and kernels. A session for training gets its steps later.
Result<Planned> plan_run(StageContext& context, const Partitioned& partitioned, const RunRequest& request,
                         Steps steps = Steps::kOfRun);
/// All steps. `outputs` are those of the last one, in fetch order, also of a run that failed after it. `on_step`, if
/// any, is called after every step that counts, with its number from 0.
using StepListener = std::function<Status(int64_t step, const std::vector<Tensor>& outputs)>;
Status execute(StageContext& context, const Planned& planned, const RunRequest& request, std::vector<Tensor>& outputs,
               const StepListener& on_step = {});

/// What execute() does before the first step: variables get their first values, or a checkpoint's.
Status start_state(const StageContext& context, const Planned& planned, const RunRequest& request);

/// load, validate, place, partition.
Result<Partitioned> partition_file(StageContext& context);

/// load and validate, for all problems of the file in one pass, training data included. `every_op`: ops that emplace
/// cannot run are problems, needed or not.
Result<Validated> check_file(StageContext& context, bool every_op);

/// What a run would take of each device's memory, by DeviceId; empty if the graph cannot be planned. An error is that
/// of a flag which names what to run.
Result<std::vector<PlannedMemory>> predict_memory(const StageContext& context, const Placed& placed);

/// make_device_set() for this process; what there is to warn of goes to `log`. Unavailable: a GPU is required.
Result<DeviceSet> find_devices(const PipelineOptions& options, Log& log);
/// One line if a GPU was asked for and is not there.
void warn_of_missing_gpu(const PipelineOptions& options, const DeviceSet& devices, Log& log);

}  // namespace emplace
