// emplace explain: why nodes are where they are.
#include "core/report/explain.h"
#include "cli/command.h"
#include "core/base/json_writer.h"
#include "core/report/run_report.h"

namespace emplace {

namespace {

std::string failure_json(const Pipeline& p, const Status& status) {
  std::string out;
  JsonWriter json(out);
  json.begin_object()
      .member("schema_version", 1)
      .key("graph")
      .begin_object()
      .member("file", p.path())
      .end_object()
      .key("error");
  write_error(json, status);
  json.end_object();
  return out + "\n";
}

}  // namespace

int explain_command(const Options& options, Log& log) {
  if (options.arguments.empty()) return usage(log, "no graph file given");
  Pipeline p(options.pipeline, options.arguments.front(), log);
  Status status = p.run(Stage::kPartition);
  if (!p.copies()) {
    if (options.format == "json") print(failure_json(p, status));
    return report_failure(p, status, log);
  }
  ExplainRequest request;
  request.nodes.assign(options.arguments.begin() + 1, options.arguments.end());
  request.on_device = options.on_device;
  request.json = options.format == "json";
  Result<std::string> text = explain(*p.file(), p.devices(), p.place_options(), *p.placement(), *p.copies(), request);
  if (!text.ok()) return usage(log, text.status().message());
  print(text->ends_with("\n") ? *text : *text + "\n");
  return status.ok() ? 0 : report_failure(p, status, log);
}

}  // namespace emplace
