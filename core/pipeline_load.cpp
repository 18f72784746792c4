// Part of core/pipeline.h: the stages load and validate, and both of them for `check`.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/base/cat.h"
#include "core/base/file_error.h"
#include "core/base/heap.h"
#include "core/base/host_memory.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
#include "core/device/device_name.h"
#include "core/formats/open_graph.h"
#include "core/formats/sound_part.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"
#include "core/train/check_training.h"

namespace emplace {
namespace {

// A graph in memory takes about 20 bytes for each of its file.
constexpr size_t kLargeFile = 256 << 10, kHeapPerByte = 20, kMostHeap = size_t{1} << 30;

/// A folder that is not there allows nothing; what it was meant for would be refused without a word about it.
Status check_allowed_paths(const LoadOptions& options) {
  for (const std::string& folder : options.allowed_paths) {
    if (::access(folder.c_str(), F_OK) != 0)
      return not_found(cat("--allow-path: there is no folder '", printable(folder), '\'')).blamed(Blame::kUsage);
  }
  return ok_status();
}

Status open_source_of(StageContext& c) {
  RETURN_IF_ERROR(check_allowed_paths(c.options.load));
  Result<std::shared_ptr<const Source>> opened = open_graph(c.path, c.options.input_format, c.options.tags);
  if (!opened.ok()) {
    std::string near = opened.status().code() == Code::kNotFound ? near_file(c.path) : std::string();
    return near.empty() ? opened.take_status() : not_found(cat(opened.status().message(), "; ", near));
  }
  c.found.source = opened.take();
  return ok_status();
}

/// The file with all that could be read of it; what could not is among the problems.
Result<Loaded> read_graph(StageContext& c) {
  HostMemory::of_process().set_limit(c.options.host_memory_limit);
  const HostUseScope use(HostUse::kConstants);
  if (!c.found.source) RETURN_IF_ERROR(open_source_of(c));
  if (const size_t size = c.found.source->text().size(); size >= kLargeFile && !c.found.source->binary())
    reserve_heap(std::min(size * kHeapPerByte, kMostHeap));
  return Loaded{load(c.found.source, c.options.load, c.found.problems)};
}

/// Feeds and fetches by a signature's keys become the graph's.
Status take_signature(StageContext& c, const Loaded& loaded) {
  ASSIGN_OR_RETURN(std::optional<GraphModel> model,
                   use_signature(*loaded.file, c.path, c.options.run, c.found.problems));
  if (!c.options.tags.empty() && (!model || model->meta.folder.empty()))
    return invalid_argument(cat("--tags: ", printable(c.path), " is no SavedModel")).blamed(Blame::kUsage);
  if (model) c.model = std::make_shared<const GraphModel>(std::move(*model));
  return first_problem(c.found.problems);
}

Result<Loaded> loaded_graph(StageContext& c) {
  ASSIGN_OR_RETURN(Loaded loaded, read_graph(c));
  RETURN_IF_ERROR(first_problem(c.found.problems));
  RETURN_IF_ERROR(c.options.files.clash().blamed(Blame::kUsage));
  RETURN_IF_ERROR(take_signature(c, loaded));
  return loaded;
}

/// Also of a file with problems: a misspelt attribute is the cause of many of them.
void warn_of_oddities(const StageContext& c, const GraphFile& file) {
  if (file.warnings.empty()) return;
  c.log.warning(file.warnings.to_string(*c.found.source));
  if (c.log.shows(LogLevel::kWarning) || c.found.problems.empty()) return;
  // Perhaps why the file is wrong: a misspelt attr has its default, which the inputs do not fit.
  Problems perhaps;
  for (const Problem& p : file.warnings.list()) {
    if (!p.hint.empty()) perhaps.add(p.position, p.message, p.hint);
  }
  if (!perhaps.empty()) c.log.problem(perhaps.to_string(*c.found.source));
}

/// Requests that no placement can read. Placing says so in TensorFlow's words, and ends there.
void check_requested_devices(const Graph& g, Problems& problems) {
  std::vector<char> wrong(g.num_texts());  // by text id: many nodes make the same request
  for (uint32_t text = 0; text < g.num_texts(); ++text) wrong[text] = !DeviceName::parse(g.text(text));
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    const std::string_view device = g.requested_device(id);
    if (!device.empty() && wrong[g.node(id).device])
      problems.add(g.node(id).position, cat("Malformed device specification '", device, "' in node '", g.name(id), "'"),
                   "write for instance \"/device:GPU:0\" or \"/job:worker/task:1/device:CPU:0\"");
  }
}

/// What is wrong with the data that a training graph names: whole messages, without a newline at the end.
std::string data_problems(const GraphFile& file, const StageContext& c, Problems& problems) {
  std::string text = check_training(file, c.options.load, problems.empty(), problems);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// A file that cannot be read as a whole is checked as far as it can be.
Result<Loaded> check_while_loading(StageContext& c, bool every_op) {
  ASSIGN_OR_RETURN(Loaded loaded, read_graph(c));
  RETURN_IF_ERROR(stop_status());
  Problems& problems = c.found.problems;
  if (problems.empty()) return loaded;
  const std::unique_ptr<GraphFile> rest = check_sound_part(*loaded.file, c.options.load, problems);
  if (rest) check_request_names(*rest, &loaded.file->graph, problems);
  if (every_op) check_all_runnable(*loaded.file, rest ? &rest->graph : nullptr, problems);
  check_requested_devices(loaded.file->graph, problems);
  c.found.data_problems = data_problems(*loaded.file, c, problems);
  return first_problem(problems);
}

Result<Validated> check_while_validating(StageContext& c, const Loaded& loaded, bool every_op) {
  Problems& problems = c.found.problems;
  const GraphFile& file = *loaded.file;
  validate(*loaded.file, problems);
  RETURN_IF_ERROR(stop_status());
  warn_of_oddities(c, file);
  if (!problems.empty()) check_request_names(file, &file.graph, problems);
  c.found.data_problems = data_problems(file, c, problems);
  Validated validated;
  Status status;
  if (problems.empty() && c.found.data_problems.empty()) {
    Result<Validated> made = finish_validation(c, loaded, nullptr);
    if (made.ok()) validated = made.take();
  }
  if (every_op) check_all_runnable(file, &file.graph, problems);
  check_requested_devices(file.graph, problems);
  RETURN_IF_ERROR(first_problem(problems));
  if (!c.found.data_problems.empty()) return invalid_argument(c.found.data_problems).blamed(Blame::kData);
  return validated;
}

}  // namespace

Status first_problem(const Problems& problems) {
  if (problems.empty()) return ok_status();
  const Problem& first = problems.list().front();
  return {first.code, first.message};
}

Result<Validated> finish_validation(StageContext& c, const Loaded& loaded, Problems* misfits) {
  GraphFile& file = *loaded.file;
  Problems& problems = c.found.problems;
  if (!file.cluster.empty() && !c.cluster)
    c.log.warning(cat(printable(c.found.source->name()),
                      ": 'cluster' is not used: one process runs the graph, on its own devices"));
  if (misfits && !misfits->empty()) c.log.warning(misfits->to_string(*c.found.source));
  for (const std::string& name : apply_file_config(file.config, c.options)) {
    if (c.log.shows(LogLevel::kDebug))
      c.log.debug(cat("option --", name, ": config of ", printable(c.found.source->name())));
  }
  HostMemory::of_process().set_limit(c.options.host_memory_limit);
  if (c.options.host_memory_limit > 0) return_what_is_freed();
  RETURN_IF_ERROR(file.memory.resize(file.graph.heap_bytes()));
  check_request_names(file, nullptr, problems);
  RETURN_IF_ERROR(first_problem(problems));
  Validated validated{loaded, {}};
  if (has_functions(loaded)) return validated;
  RETURN_IF_ERROR(check_flag_gradients(file, c.options.run));
  validated.gradients = add_fetched_gradients(file, fetch_names(file, c.options.run), c.options.run.colocate_gradients,
                                              problems, misfits);
  RETURN_IF_ERROR(first_problem(problems));
  return validated;
}

Result<Validated> validated_graph(StageContext& c, const Loaded& loaded, Problems* misfits) {
  Problems& problems = c.found.problems;
  const GraphFile& file = *loaded.file;
  validate(*loaded.file, problems, misfits);
  RETURN_IF_ERROR(stop_status());
  warn_of_oddities(c, file);
  if (!problems.empty()) check_request_names(file, &file.graph, problems);
  if (misfits && file.graph.num_nodes() == 0)
    problems.add(kNoPosition, "the graph has no node, so there is nothing to place");
  RETURN_IF_ERROR(first_problem(problems));
  return finish_validation(c, loaded, misfits);
}

Result<Loaded> load_graph(StageContext& c) {
  set_deadline(c.options.run.timeout_s);
  return run_stage(
      c, Stage::kLoad, Blame::kFile, [&] { return loaded_graph(c); }, dump_made);
}

Result<Validated> validate_graph(StageContext& c, const Loaded& loaded) {
  Problems misfits;
  ASSIGN_OR_RETURN(const Validated validated, run_stage(
                                                  c, Stage::kValidate, Blame::kFile,
                                                  [&] { return validated_graph(c, loaded, &misfits); }, dump_made));
  return lower_graph(c, validated);
}

Result<Runnable> validate_run(StageContext& c, const Loaded& loaded, Inputs inputs) {
  const auto body = [&]() -> Result<Runnable> {
    Runnable runnable;
    if (c.model && inputs == Inputs::kFed)
      RETURN_IF_ERROR(check_signature_run(*c.model, c.path, *loaded.file, c.options.run));
    ASSIGN_OR_RETURN(static_cast<Validated&>(runnable), validated_graph(c, loaded, nullptr));
    if (has_functions(loaded)) {
      ASSIGN_OR_RETURN(runnable.request, resolve_before_gradients(*runnable.file, c.options.run, c.found.problems));
      return runnable;
    }
    ASSIGN_OR_RETURN(runnable.request,
                     resolve_request(*runnable.file, c.options.run, runnable.gradients, c.found.problems));
    name_by_keys(c.options.run, runnable.request);
    check_runnable(*runnable.file, runnable.request, c.found.problems);
    RETURN_IF_ERROR(first_problem(c.found.problems));
    return runnable;
  };
  ASSIGN_OR_RETURN(Runnable runnable, run_stage(c, Stage::kValidate, Blame::kFile, body, dump_made));
  if (!has_functions(loaded)) return runnable;
  return lower_to_run(c, runnable, runnable.request);
}

Result<Validated> check_file(StageContext& c, bool every_op) {
  ASSIGN_OR_RETURN(const Loaded loaded,
                   run_stage(
                       c, Stage::kLoad, Blame::kFile, [&] { return check_while_loading(c, every_op); }, dump_made));
  return run_stage(
      c, Stage::kValidate, Blame::kFile, [&] { return check_while_validating(c, loaded, every_op); }, dump_made);
}

}  // namespace emplace
