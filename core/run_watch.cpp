#include "core/run_watch.h"

#include "core/base/cat.h"
#include "core/pipeline_stage.h"
#include "core/report/trace_report.h"

namespace emplace {

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
  if (!o.run.trace.empty()) {
    trace_ = std::make_unique<TraceRecorder>();
    observers_.add(trace_.get());
  }
}

Status RunWatch::open_files() {
  if (!trace_) return ok_status();
  Result<OutputFile> opened = OutputFile::open(context_.options.run.trace);
  if (!opened.ok()) return written(opened.status(), "--trace");
  trace_file_ = opened.take();
  return ok_status();
}

void RunWatch::begin_step(int64_t step) {
  if (trace_) trace_->begin_step(step);
}

Status RunWatch::numerics_status() const {
  if (!numerics_ || numerics_->nodes_found() == 0) return ok_status();
  return failed_precondition(cat(numerics_->nodes_found(), " nodes have outputs with NaN or infinite elements"))
      .blamed(Blame::kMismatch);
}

Status RunWatch::end_steps(Status ran) {
  if (ran.ok()) ran = numerics_status();
  if (!trace_) return ran;
  const Origins* origins = placed_.lowering ? &placed_.lowering->origins : nullptr;
  Status saved = trace_file_.write(trace_json(placed_.file->graph, *placed_.devices, *trace_, origins));
  if (saved.ok()) saved = trace_file_.commit();
  return ran.ok() ? written(saved, "--trace") : ran;
}

}  // namespace emplace
