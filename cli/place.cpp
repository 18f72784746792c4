// emplace place: stop after placement, print where everything would be.
#include "cli/command.h"
#include "core/base/cat.h"
#include "core/report/place_report.h"

namespace emplace {
namespace {

/// Says in one line where running would differ from this placement.
void say_missing_kernels(const Pipeline& p, Log& log) {
  if (p.place_options().available_kernels_only) return;
  std::vector<NodeId> missing = nodes_without_available_kernel(*p.file());
  if (missing.empty()) return;
  const Graph& g = p.file()->graph;
  log.info(cat(missing.size(), " of these nodes cannot run here, the first is '", g.name(missing.front()), "' (", g.op(missing.front()),
               "); --kernels available places with the kernels that emplace has"));
}

int place_graph(const Options& options, const std::string& path, Log& log) {
  Pipeline p(options.pipeline, path, log);
  Status status = p.run(Stage::kPartition);
  int code = status.ok() ? 0 : report_failure(p, status, log);
  PlaceReport report;
  report.file = p.file();
  report.devices = &p.devices();
  report.options = &p.place_options();
  report.placement = p.placement();
  report.copies = p.copies();
  report.error = status;
  report.offenders = p.offenders();
  report.load_ms = p.timings().load_ms;
  report.place_ms = p.timings().place_ms;
  // A gate that fails leaves a placement to show.
  if (!status.ok() && options.format != "json" && !p.copies()) return code;
  if (status.ok() && options.pipeline.placing.log_device_placement == "stdout" && options.format == "text") return code;
  Result<std::string> document = place_document(report, options.format);
  if (!document.ok()) return usage(log, document.status().message());
  print(*document);
  if (status.ok()) say_missing_kernels(p, log);
  return code;
}

}  // namespace

int place_command(const Options& options, Log& log) {
  return for_each_graph(options, log, [&](const std::string& path) { return place_graph(options, path, log); });
}

}  // namespace emplace
