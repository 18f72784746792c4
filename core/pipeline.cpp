// What all stages share, and the stages place and partition.
#include "core/pipeline.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/base/cat.h"
#include "core/base/descriptor.h"
#include "core/base/heap_limit.h"
#include "core/base/printable.h"
#include "core/base/text_file.h"
#include "core/base/units.h"
#include "core/cluster/cluster.h"
#include "core/device/make_device_set.h"
#include "core/device/visible_devices.h"
#include "core/pipeline_stage.h"
#include "core/place/isolate_calls.h"
#include "core/place/place_in_order.h"
#include "core/report/placement_log.h"

namespace emplace {
namespace {

/// The options and variables that are about GPUs of this machine: "--visible-devices, --gpu-exec"; empty: none is
/// given.
std::string who_asks_for_gpus(const PipelineOptions& o) {
  std::string names;
  const auto add = [&](std::string_view name) { append(names, names.empty() ? "" : ", ", name); };
  const auto count = o.devices.device_count.find("GPU");
  const bool none_wanted = count != o.devices.device_count.end() && count->second == 0;
  if (none_wanted || !o.devices.devices.empty()) return {};
  if (!o.devices.visible_device_list.empty()) add("--visible-devices");
  if (count != o.devices.device_count.end()) add("--device-count");
  for (const std::string_view flag :
       {"gpu-exec", "gpu-fuse", "sync-every-node", "matmul-precision", "memory-fraction", "memory-limit"}) {
    if (o.given.contains(flag)) add(cat("--", flag));
  }
  if (mask_wants_gpu(environment_variable("CUDA_VISIBLE_DEVICES"))) add("CUDA_VISIBLE_DEVICES");
  if (const char* plugin = std::getenv("EMPLACE_CUDA_PLUGIN"); plugin && *plugin) add("EMPLACE_CUDA_PLUGIN");
  return names;
}

/// The session's lines, unless ops will start and the eager ones take their place.
Status log_placement(const StageContext& c, bool runs, const std::string& text) {
  const PlaceFlags& o = c.options.placing;
  return o.log_device_placement.empty() || (o.log_eagerly && runs) ? ok_status() : write_log_lines(c, text);
}

Result<PlaceOptions> resolve_placing(StageContext& c, const GraphFile& file, bool runs) {
  const PlaceFlags& o = c.options.placing;
  PlaceOptions place;
  place.allow_soft_placement = o.allow_soft_placement;
  place.log_device_placement = !o.log_device_placement.empty();
  place.available_kernels_only = o.available_kernels_only;
  place.eager_words = o.log_eagerly && runs;
  // What the run needs has kernels (validate saw to it): what else the graph holds need not stop it.
  if (runs && !nodes_without_available_kernel(file).empty()) place.available_kernels_only = false;
  std::vector<std::string> warnings;
  RETURN_IF_ERROR(resolve_requests(file.graph, o.rules, place, warnings));
  for (const std::string& warning : warnings) c.log.warning(warning);
  if (o.placement_in.empty()) return place;
  ASSIGN_OR_RETURN(place.assigned, read_placement(file.graph, o.placement_in));
  return place;
}

/// Writes what the placer has to say, also of what it placed before it failed.
Status log_placed(const StageContext& c, bool runs, const GraphFile& file, const DeviceSet& devices,
                  const Placement& made) {
  for (const auto& [severity, note] : made.notes) severity == 0 ? c.log.info(note) : c.log.warning(note);
  constexpr size_t kLines = 1000;  // at a time: those of a large graph are many megabytes
  for (size_t i = 0; i < made.order.size() && !c.options.placing.log_device_placement.empty(); i += kLines) {
    RETURN_IF_ERROR(log_placement(c, runs, placement_lines(file.graph, devices, made, i, kLines)));
  }
  return ok_status();
}

/// TensorFlow's order of ids; nodes that came in behind it keep theirs.
std::vector<NodeId> order_of(const Validated& validated) {
  if (!validated.lowering || validated.lowering->order.empty()) return {};
  std::vector<NodeId> order = validated.lowering->order;
  for (auto node = static_cast<NodeId>(order.size()); node < validated.file->graph.num_nodes(); ++node)
    order.push_back(node);
  return order;
}

/// The graph of a step, whose nodes ask for what they got where the whole graph was placed.
Result<Placed> placed_step(StageContext& c, const Validated& validated) {
  const StepOrigin& from = *validated.lowering->step;
  auto options = std::make_shared<PlaceOptions>(step_place_options(*from.options));
  options->origins = &validated.lowering->origins;
  ASSIGN_OR_RETURN(Placement placement, place_in_order(*validated.file, *c.found.devices, *options, order_of(validated),
                                                       c.found.offenders, nullptr));
  return Placed{
      validated.file,      c.found.devices,   options, std::make_shared<const Placement>(std::move(placement)),
      validated.gradients, validated.lowering};
}

}  // namespace

Result<Placed> placed_graph(StageContext& c, const Validated& validated, bool runs) {
  if (validated.lowering && validated.lowering->step) return placed_step(c, validated);
  GraphFile& file = *validated.file;
  ASSIGN_OR_RETURN(DeviceSet found, c.cluster ? c.cluster->devices() : find_devices(c.options, c.log));
  if (!c.cluster) warn_of_missing_gpu(c.options, found, c.log);
  c.found.devices = std::make_shared<const DeviceSet>(std::move(found));
  const DeviceSet& devices = *c.found.devices;
  if (runs && !devices.runnable) {
    return invalid_argument("described devices can be planned for, not run on; use --simulate-gpus to run")
        .blamed(Blame::kUsage);
  }
  isolate_calls(*file.ops, file.graph);
  Result<PlaceOptions> options = resolve_placing(c, file, runs);
  if (!options.ok()) return options.status().blamed(Blame::kUsage);
  if (validated.lowering) options->origins = &validated.lowering->origins;
  if (!c.cluster) RETURN_IF_ERROR(log_placement(c, runs, device_mapping(devices)));
  Placement before_failure;
  const std::vector<NodeId> order = order_of(validated);
  Result<Placement> placement = place_in_order(file, devices, *options, order, c.found.offenders, &before_failure);
  if (!placement.ok() && !options->allow_soft_placement) {
    PlaceOptions soft = *options;
    soft.allow_soft_placement = true;
    std::vector<std::string> none;
    c.found.soft_placement_helps = place_in_order(file, devices, soft, order, none, nullptr).ok();
  }
  Placed placed{validated.file, c.found.devices,     std::make_shared<const PlaceOptions>(options.take()),
                nullptr,        validated.gradients, validated.lowering};
  if (placement.ok()) RETURN_IF_ERROR(place_by_cost(c, placed, *placement));
  RETURN_IF_ERROR(log_placed(c, runs, file, devices, placement.ok() ? *placement : before_failure));
  if (!placement.ok()) return placement.take_status();
  placed.placement = std::make_shared<const Placement>(placement.take());
  return placed;
}

namespace {

/// Of what was placed; and for nodes that are not where they ask to be, of the whole graph that a step was made from,
/// or of the step that a run will make.
Status check_every_gate(const Placed& placed, const CopyPlan& copies, const Gates& gates) {
  const DeviceSet& devices = *placed.devices;
  RETURN_IF_ERROR(check_gates(*placed.file, devices, *placed.options, *placed.placement,
                              {copies.num_across(), copies.bytes_across()}, gates));
  if (placed.lowering && placed.lowering->step) {
    const StepOrigin& whole = *placed.lowering->step;
    return check_gates(*whole.file, devices, *whole.options, *whole.placement, {}, {.fail_on = gates.fail_on});
  }
  if (!placed.step) return ok_status();
  const StepGraph& step = *placed.step;
  return check_gates(*step.file, devices, step.options, step.placement, {}, {.fail_on = gates.fail_on});
}

/// Where the file is not begun, by a side of a comparison, it is written at once.
Status save_placement_of(const Placed& placed, const PlaceFlags& o) {
  if (o.placement_file && !o.placement_file->is_empty()) return ok_status();
  const std::string text = save_placement(placed.file->graph, *placed.devices, *placed.placement);
  return o.placement_file ? o.placement_file->write(text) : write_text_file(o.placement_out, text);
}

Result<Partitioned> partitioned_graph(const StageContext& c, const Placed& placed) {
  const PlaceFlags& o = c.options.placing;
  const std::vector<Endpoint> fed = fed_tensors(*placed.file, c.options.run);
  auto copies = std::make_shared<const CopyPlan>(plan_copies(*placed.file, *placed.devices, *placed.placement, &fed));
  Partitioned made{placed, copies, {}};
  made.verdict = check_every_gate(placed, *copies, o.gates).blamed(Blame::kPlacement);
  if (made.verdict.ok() && !o.placement_out.empty())
    made.verdict = written(save_placement_of(placed, o), "--placement-out");
  return made;
}

}  // namespace

const char* environment_variable(const char* name) { return std::getenv(name); }

void end_stage(StageContext& c, double seconds) {
  if (c.log.shows(LogLevel::kDebug)) c.log.debug(cat(stage_name(c.stage), ": ", time_text(seconds)));
  switch (c.stage) {
    case Stage::kLoad:
    case Stage::kValidate:
      c.timings.load_ms += seconds * 1e3;
      break;
    case Stage::kLower:
    case Stage::kPlace:
      c.timings.place_ms += seconds * 1e3;
      break;
    case Stage::kPartition:
    case Stage::kPlan:
      c.timings.plan_ms += seconds * 1e3;
      break;
    case Stage::kExecute:
      break;  // counted step by step
  }
}

Status written(const Status& status, std::string_view option) {
  return status.with_context(option).blamed(status.code() == Code::kInvalidArgument ? Blame::kUsage : Blame::kWrite);
}

Status write_log_lines(const StageContext& c, const std::string& lines) {
  const std::string text = printable(lines, LineEnds::kKept);
  const std::string& to = c.options.placing.log_device_placement;
  if (to.empty() || to == "stderr" || to == "stdout") {
    const int error = write_console(to == "stdout" ? STDOUT_FILENO : STDERR_FILENO, text);
    return error == EINTR ? stop_status().with_context("--log-device-placement") : ok_status();
  }
  return written(c.options.placing.placement_log->write(text), "--log-device-placement");
}

Result<Placed> place_graph(StageContext& c, const Validated& validated) {
  ASSIGN_OR_RETURN(Placed placed, run_stage(
                                      c, Stage::kPlace, Blame::kPlacement,
                                      [&] { return placed_graph(c, validated, false); }, dump_made));
  RETURN_IF_ERROR(add_step(c, placed));
  return placed;
}

Result<Placed> place_to_run(StageContext& c, const Validated& validated) {
  return run_stage(
      c, Stage::kPlace, Blame::kPlacement, [&] { return placed_graph(c, validated, true); }, dump_made);
}

Result<Partitioned> partition_graph(StageContext& c, const Placed& placed) {
  return run_stage(
      c, Stage::kPartition, Blame::kPlacement, [&] { return partitioned_graph(c, placed); }, dump_made);
}

Result<Partitioned> partition_file(StageContext& c) {
  const HeapLimit limit;
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c));
  ASSIGN_OR_RETURN(const Validated validated, validate_graph(c, loaded));
  ASSIGN_OR_RETURN(const Placed placed, place_graph(c, validated));
  return partition_graph(c, placed);
}

Result<DeviceSet> find_devices(const PipelineOptions& options, Log& log) {
  std::vector<std::string> warnings;
  Result<DeviceSet> devices = make_device_set(options.devices, environment_variable, warnings);
  for (const std::string& warning : warnings) log.warning(warning);
  if (!devices.ok())
    return devices.status().blamed(devices.status().code() == Code::kUnavailable ? Blame::kDevice : Blame::kUsage);
  if (!devices->growth_error.empty()) log.error(devices->growth_error);
  if (devices->gpus) devices->gpus->speak_to(gpu_log(log));
  const auto& all = devices->devices;
  if (std::any_of(all.begin(), all.end(), [](const Device& d) { return d.type == "GPU"; })) return devices;
  if (options.require_gpu)
    return unavailable(cat("--require-gpu: no GPU can be used: ", devices->no_gpu_cause)).blamed(Blame::kDevice);
  return devices;
}

void warn_of_missing_gpu(const PipelineOptions& options, const DeviceSet& devices, Log& log) {
  const auto& all = devices.devices;
  if (std::any_of(all.begin(), all.end(), [](const Device& d) { return d.type == "GPU"; })) return;
  if (const std::string asking = who_asks_for_gpus(options); !asking.empty())
    log.warning(cat("no GPU, though asked for (", asking, "): ", devices.no_gpu_cause));
}

}  // namespace emplace
