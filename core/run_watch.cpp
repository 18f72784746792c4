#include "core/run_watch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/cat.h"
#include "core/base/host_memory.h"
#include "core/base/stop.h"
#include "core/pipeline_stage.h"
#include "core/report/trace_report.h"

namespace emplace {
namespace {

/// Of a trace's text. Who has been asked to stop has a moment left; a document, and what is worked out for it, takes
/// half of the memory that is free.
int64_t most_lines() {
  constexpr int64_t kMost = 12'000'000, kInAMoment = 300'000, kLineBytes = 96;
  if (stop_requested()) return kInAMoment;
  const HostMemory& memory = HostMemory::of_process();
  return std::min(kMost, (memory.limit() - memory.in_use()) / 2 / kLineBytes);
}

}  // namespace

RunWatch::RunWatch(const StageContext& context, const Placed& placed) : context_(context), placed_(placed) {
  const Graph& g = placed_.file->graph;
  const DeviceSet& devices = *placed_.devices;
  const PipelineOptions& o = context.options;
  if (o.placing.log_eagerly) {
    eager_log_ = std::make_unique<EagerLog>(g, devices, *placed_.options, [this](const std::string& line) {
      static_cast<void>(write_log_lines(context_, line + "\n"));
    });
    observers_.add(eager_log_.get());
  }
  if (o.run.check_numerics != NumericsAction::kNone) {
    numerics_ = std::make_unique<NumericsCheck>(g, devices, o.run.check_numerics == NumericsAction::kStop,
                                                [this](const std::string& text) { context_.log.error(text); });
    observers_.add(numerics_.get());
  }
  if (context.observer) observers_.add(context.observer);
  if (o.run.trace.empty() && !o.run.step_report) return;
  const bool on_gpus = std::any_of(devices.devices.begin(), devices.devices.end(),
                                   [](const Device& d) { return d.kind == DeviceKind::kCuda; });
  if (observers_.empty() && !on_gpus) {
    launches_ = std::make_unique<LaunchTrace>(LaunchTrace::Short::kShared);
    launches_->limit_steps(o.run.trace_steps.first, o.run.trace_steps.second);
  } else {
    trace_ = std::make_unique<TraceRecorder>();
    observers_.add(trace_.get());
  }
}

Status RunWatch::open_files() {
  if (!traces()) return ok_status();
  if (const NodeFilter& filter = context_.options.run.watched; filter.any()) {
    Result<std::vector<char>> shown = filter.shown(placed_.file->graph, *placed_.devices, *placed_.placement);
    if (!shown.ok()) return shown.status().with_context("--trace").blamed(Blame::kUsage);
    shown_ = shown.take();
  }
  for (const std::string& file : context_.options.placing.automatic.costs) {
    ASSIGN_OR_RETURN(CostTable costs, read_cost_file(file));
    costs_.merge(std::move(costs));
  }
  Result<OutputFile> opened = OutputFile::open(context_.options.run.trace);
  if (!opened.ok()) return written(opened.status(), "--trace");
  trace_file_ = opened.take();
  return ok_status();
}

void RunWatch::begin_step(int64_t step) {
  if (trace_) trace_->begin_step(step);
  if (launches_) launches_->begin_step(step);
}

void RunWatch::between_steps(int64_t next) {
  constexpr int64_t kOfNoStep = LaunchTrace::kBeforeSteps - 1;
  begin_step(context_.options.run.step_report ? kOfNoStep : next);
}

void RunWatch::begin_numbered_steps() {
  if (launches_) launches_->begin_numbered_steps();
}

Status RunWatch::numerics_status() const {
  if (!numerics_ || numerics_->nodes_found() == 0) return ok_status();
  return failed_precondition(cat(numerics_->nodes_found(), " nodes have outputs with NaN or infinite elements"))
      .blamed(Blame::kMismatch);
}

/// By the file, or the command line.
std::vector<char> RunWatch::fed_nodes() const {
  const Graph& g = placed_.file->graph;
  std::vector<char> fed(g.num_nodes(), 0);
  const auto mark = [&](std::string_view tensor) {
    const NodeId node = g.find(tensor.substr(0, tensor.find(':')));
    if (node != kNoNode) fed[node] = 1;
  };
  for (const auto& [ref, value] : placed_.file->feed) mark(ref.name);
  for (const std::string& feed : context_.options.run.feed) mark(std::string_view(feed).substr(0, feed.find('=')));
  return fed;
}

std::string RunWatch::trace_text() const {
  TraceFacts facts{&placed_.file->graph, placed_.devices.get(), placed_.placement.get()};
  const std::vector<char> fed = fed_nodes();
  facts.fed = &fed;
  if (!context_.options.placing.automatic.costs.empty()) facts.costs = &costs_;
  if (placed_.lowering) facts.origins = &placed_.lowering->origins;
  facts.left_out = launches_ ? launches_->left_out() : trace_->left_out();
  if (launches_) facts.clock_error_ns = launches_->clock_error_ns();
  if (!shown_.empty()) facts.shown = &shown_;
  const int64_t lines = most_lines();
  std::vector<LaunchedWork> work;
  std::vector<TraceSlice> shown = slices(work, lines / (kLinesOfSlice + kLinesOfNode));
  if (trace_) facts.left_out += std::ssize(trace_->spans()) - std::ssize(shown);
  facts.left_out += leave_out_oldest(shown, lines);
  return trace_json(facts, shown);
}

std::vector<TraceSlice> RunWatch::slices(std::vector<LaunchedWork>& work, int64_t most_observed) const {
  return launches_ ? slices_of(*launches_, launches_->spans()) : slices_of(*trace_, most_observed, work);
}

std::optional<StepReport> RunWatch::step_report() const {
  if (!context_.options.run.step_report) return std::nullopt;
  std::vector<LaunchedWork> work;
  return emplace::step_report(placed_.file->graph, *placed_.devices, slices(work, most_lines()));
}

Status RunWatch::end_steps(Status ran) {
  if (ran.ok()) ran = numerics_status();
  if (!traces()) return ran;
  Status saved = trace_file_.write(trace_text());
  if (saved.ok()) saved = trace_file_.commit();
  return ran.ok() ? written(saved, "--trace") : ran;
}

}  // namespace emplace
