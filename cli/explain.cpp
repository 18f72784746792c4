// emplace explain: why nodes are where they are.
#include <array>

#include "cli/cluster_flags.h"
#include "cli/command.h"
#include "core/base/heap_limit.h"
#include "core/base/json_writer.h"
#include "core/base/schema.h"
#include "core/cost_choice_again.h"
#include "core/predict_left_out.h"
#include "core/report/explain.h"
#include "core/report/launches_report.h"
#include "core/report/run_report.h"

namespace emplace {
namespace {

std::string failure_json(const std::string& path, const Status& status) {
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kExplanation)
      .key("graph")
      .begin_object()
      .member("file", path)
      .end_object();
  json.key("error");
  write_error(json, status);
  json.end_object();
  return out + "\n";
}

int explain_graph(const Options& options, const std::string& on_device, const NodeFilter& filter, Cluster* cluster,
                  Log& log) {
  if (options.arguments.empty()) return usage(log, "no graph file given");
  StageContext c(options.pipeline, options.arguments.front(), log);
  c.cluster = cluster;
  const HeapLimit limit;
  const Result<Partitioned> made = partition_file(c);
  if (!made.ok()) {
    if (options.format == Format::kJson) print(failure_json(c.path, made.status()));
    return report_failure(c, made.status());
  }
  ExplainRequest request;
  request.nodes.assign(options.arguments.begin() + 1, options.arguments.end());
  if (filter.any()) {
    const Result<std::vector<char>> shown = filter.shown(made->file->graph, *made->devices, *made->placement);
    if (!shown.ok()) return usage(log, shown.status());
    for (const NodeId node : made->placement->order) {
      if ((*shown)[node]) request.nodes.emplace_back(made->file->graph.name(node));
    }
  }
  request.on_device = on_device;
  request.automatic = c.found.automatic.get();
  request.by_cost = cost_choice_again(c, *made);
  if (made->lowering) request.origins = &made->lowering->origins;
  Result<std::vector<LeftOut>> left_out = predict_left_out(c, *made);
  if (!left_out.ok()) return report_failure(c, left_out.status());
  request.left_out = left_out.take();
  request.json = options.format == Format::kJson;
  Result<std::string> text =
      explain(*made->file, *made->devices, *made->options, *made->placement, *made->copies, request);
  if (!text.ok()) return usage(log, text.status());
  const std::string lines = text->ends_with("\n") ? *text : *text + "\n";
  request.json ? print(lines) : print_lines(lines);
  return made->verdict.ok() ? 0 : report_failure(c, made->verdict);
}

/// --launches: plans the step as a run would, and runs nothing.
Result<std::string> planned_launches(StageContext& c, const Options& options) {
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c));
  ASSIGN_OR_RETURN(const Runnable runnable, validate_run(c, loaded));
  ASSIGN_OR_RETURN(const Placed placed, place_to_run(c, runnable));
  ASSIGN_OR_RETURN(const Partitioned partitioned, partition_graph(c, placed));
  RETURN_IF_ERROR(partitioned.verdict);
  ASSIGN_OR_RETURN(const Planned planned, plan_run(c, partitioned, runnable.request));
  const std::vector<std::string> nodes(options.arguments.begin() + 1, options.arguments.end());
  Result<std::string> text = explain_launches(planned.file->graph, *planned.devices, step_facts(*planned.session),
                                              nodes, options.format == Format::kJson);
  return text.ok() ? std::move(text) : text.status().blamed(Blame::kUsage);
}

int explain_launches_of(const Options& options, Log& log) {
  if (options.arguments.empty()) return usage(log, "no graph file given");
  StageContext c(options.pipeline, options.arguments.front(), log);
  const Result<std::string> text = planned_launches(c, options);
  if (!text.ok()) {
    if (options.format == Format::kJson) print(failure_json(c.path, text.status()));
    return report_failure(c, text.status());
  }
  options.format == Format::kJson ? print(*text) : print_lines(*text);
  return 0;
}

class ExplainCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.only_places = true;
    set.positional("GRAPH [NODE...]", "Without a node: a summary by reason. GRAPH '-' is standard input.", o.arguments);
    declare_placed_run(set, o.pipeline);
    declare_cluster_to_plan(set, cluster_, o.pipeline);
    set.group(kOfARun);
    declare_memory_report(set, o);
    declare_execution(set, o.pipeline);
    declare_trace(set, o.pipeline);
    declare_outputs(set, o.outputs);
    set.group("Files and output");
    declare_filter(set, filter_);
    set.text("on", "DEVICE", "What would have to change for the node to be there", on_device_);
    set.flag("launches", "Which kernel of a step does the node's work, with which others, how, and why it ends there",
             launches_);
    declare_loading(set, o.pipeline);
    declare_format(set, o, std::array{Format::kText, Format::kJson});
  }

  int run(const Options& options, Log& log) override {
    if (Status status = filter_.check(); !status.ok()) return usage(log, status);
    if (launches_ && (!on_device_.empty() || filter_.any() || cluster_.given()))
      return usage(
          log, "--launches tells of a step in this process: no --on, --nodes, --device, --op, --master or --cluster");
    if (launches_) return explain_launches_of(options, log);
    ClusterUse use;
    if (const Status status = use.open(cluster_, options.pipeline, log); !status.ok()) return report_error(status, log);
    return explain_graph(options, on_device_, filter_, use.cluster(), log);
  }

 private:
  std::string on_device_;
  bool launches_ = false;
  NodeFilter filter_;
  ClusterFlags cluster_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace emplace
