// emplace draw: a picture of where every node would run.
#include "core/report/draw/draw.h"

#include <charconv>

#include "cli/command.h"
#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/input_file.h"
#include "core/base/stop.h"
#include "core/base/text_file.h"
#include "core/base/units.h"
#include "core/graph/lookup.h"
#include "core/report/bench/cost_estimate.h"
#include "core/report/trace_times.h"

namespace emplace {
namespace {

/// "NODE:2", or "NODE" for its neighbours.
struct Around {
  std::string node;
  int64_t edges = 1;
};

/// The flags that no other command has.
struct DrawFlags {
  std::string output, trace;
  Around around;
  DrawColor color = DrawColor::kDevice;
  DrawGroup group = DrawGroup::kScopes;
  int64_t depth = -1;
};

/// What boxes are coloured by, or when what is said beside is coloured.
Status set_color(const std::string& text, DrawColor& boxes, ColorMode& log) {
  static constexpr std::pair<std::string_view, DrawColor> kColors[] = {
      {"device", DrawColor::kDevice}, {"time", DrawColor::kTime}, {"memory", DrawColor::kMemory}};
  std::vector<std::string_view> words;
  for (const auto& [word, color] : kColors) {
    if (word == text) return boxes = color, ok_status();
    words.push_back(word);
  }
  for (const auto& [word, mode] : color_modes()) {
    if (word == text) return log = mode, ok_status();
    words.push_back(word);
  }
  return not_one_of(text, words);
}

Status set_around(const std::string& text, Around& around) {
  const size_t colon = text.rfind(':');
  around.node = text.substr(0, colon);
  const char* end = text.data() + text.size();
  const bool whole =
      colon == std::string::npos || (std::from_chars(text.data() + colon + 1, end, around.edges).ptr == end &&
                                     around.edges >= 0 && colon + 1 < text.size());
  if (whole && !around.node.empty()) return ok_status();
  return invalid_argument(
      cat("'", text, "': wanted NODE:EDGES, such as ", around.node.empty() ? "x" : around.node, ":2"));
}

Status find_around(const Around& around, const Graph& graph, DrawRequest& request) {
  if (around.node.empty()) return ok_status();
  NameError error;
  request.distance = around.edges;
  request.around = find_node(graph, around.node, error);
  return request.around == kNoNode ? not_found(cat("--around: ", error.text())) : ok_status();
}

/// What each node takes where it is, by tables of costs; -1: nobody knows.
Result<std::vector<double>> times_by_costs(const std::vector<std::string>& files, const Partitioned& made) {
  CostTable costs;
  for (const std::string& name : files) {
    ASSIGN_OR_RETURN(CostTable table, read_cost_file(name));
    costs.merge(std::move(table));
  }
  const Graph& graph = made.file->graph;
  const CostEstimates estimates(costs, graph, *made.devices);
  std::vector<double> us(graph.num_nodes(), -1);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    const std::optional<CostEstimate> cost = estimates.of(n, made.placement->device(n));
    if (cost) us[n] = cost->us;
  }
  return us;
}

Drawing draw_as(const std::string& output, const PlaceReport& report, const DrawRequest& request) {
  if (output.ends_with(".svg")) return draw_svg(report, request);
  return output.ends_with(".dot") ? draw_dot(report, request) : draw_page(report, request);
}

void say_what_was_drawn(const std::string& output, const Drawing& drawing, Log& log) {
  std::string text = cat(printable(output), ": ", counted(drawing.nodes, "node"), ", ",
                         size_text(static_cast<int64_t>(drawing.text.size())));
  constexpr size_t kNamed = 8;
  const size_t folded = drawing.folded.size();
  if (folded > 0) append(text, "; folded: ");
  for (size_t i = 0; i < std::min(kNamed, folded); ++i) append(text, i > 0 ? ", " : "", drawing.folded[i]);
  if (folded > kNamed) append(text, " and ", folded - kNamed, " more");
  log.info(text);
}

/// `trace`: null, or of --trace.
int draw_graph(const Options& options, const DrawFlags& flags, const InputFile* trace, Log& log) {
  const HeapLimit limit;
  StageContext c(options.pipeline, options.arguments.front(), log);
  const Result<Partitioned> made = partition_file(c);
  if (!made.ok()) return report_failure(c, made.status());
  PlaceReport report;
  report.path = c.path == "-" ? "<stdin>" : c.path;
  report.source = c.found.source.get();
  report.file = made->file.get();
  report.devices = made->devices.get();
  report.options = made->options.get();
  report.placement = made->placement.get();
  report.copies = made->copies.get();
  if (made->lowering) report.origins = &made->lowering->origins;

  DrawRequest request;
  request.color = flags.color;
  request.group = flags.group;
  request.depth = flags.depth;
  if (Status status = find_around(flags.around, made->file->graph, request); !status.ok()) return usage(log, status);
  if (trace) {
    Result<std::vector<double>> times = node_times(made->file->graph, trace->bytes(), flags.trace);
    if (!times.ok()) return report_error(times.status().blamed(Blame::kFile), log);
    request.node_us = times.take();
  } else if (flags.color == DrawColor::kTime) {
    Result<std::vector<double>> times = times_by_costs(c.options.placing.automatic.costs, *made);
    if (!times.ok()) return report_error(times.status(), log);
    request.node_us = times.take();
  }
  const Drawing drawing = draw_as(flags.output, report, request);
  if (Status status = stop_status(); !status.ok()) return report_failure(c, status);
  if (Status status = write_text_file(flags.output, drawing.text); !status.ok()) return report_error(status, log);
  say_what_was_drawn(flags.output, drawing, log);
  return made->verdict.ok() ? 0 : report_failure(c, made->verdict);
}

class DrawCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.predicts = true;
    set.positional("GRAPH", "GRAPH '-' is standard input.", o.arguments);
    set.group("The picture");
    set.text("output,-o", "FILE", "Its ending tells the form: .svg, .html (one page that opens and searches) or .dot",
             flags_.output);
    set.value("color", "WHAT",
              "device (default), time (of --trace or --costs) or memory (of a node's outputs); auto, always and never "
              "are about what is said beside, as for all commands",
              {[this, &o](const std::string& text) { return set_color(text, flags_.color, o.talk.color); },
               {"device", "time", "memory", "auto", "always", "never"}});
    set.text("trace", "FILE", "The times of a run, as 'emplace run --trace FILE' wrote them", flags_.trace);
    set.value("group", "BY", "scopes (default), device or none: what the boxes around nodes are",
              set_choice<DrawGroup>(
                  flags_.group,
                  {{"scopes", DrawGroup::kScopes}, {"device", DrawGroup::kDevice}, {"none", DrawGroup::kNone}}));
    set.value("around", "NODE:EDGES", "Only what is at most so many edges away from a node",
              [this](const std::string& text) { return set_around(text, flags_.around); });
    set.value("depth", "N", "Open scopes down to this level; without it, as many as there is room for",
              set_integer(flags_.depth, 0));
    declare_placed_run(set, o.pipeline);
    declare_own_task(set, o.pipeline);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
  }

  int run(const Options& options, Log& log) override {
    if (options.arguments.size() != 1) return usage(log, "wanted one graph: emplace draw GRAPH -o FILE.svg");
    const std::string& out = flags_.output;
    if (!out.ends_with(".svg") && !out.ends_with(".html") && !out.ends_with(".dot"))
      return usage(log, out.empty() ? std::string("where to? -o FILE.svg, FILE.html or FILE.dot")
                                    : cat("-o '", out, "': the ending tells the form: .svg, .html or .dot"));
    if (flags_.color == DrawColor::kTime && flags_.trace.empty() && options.pipeline.placing.automatic.costs.empty())
      return usage(log,
                   "--color time needs --trace FILE, which 'emplace run GRAPH --trace FILE' writes, or --costs FILE, "
                   "which 'emplace bench GRAPH --save-costs FILE' does");
    NamedFiles files = options.pipeline.files;
    if (Status status = files.writes(out, "-o"); !status.ok()) return usage(log, status);
    if (flags_.trace.empty()) return draw_graph(options, flags_, nullptr, log);
    const auto trace = InputFile::open(flags_.trace);
    if (!trace.ok()) return report_error(trace.status().with_context("--trace").blamed(Blame::kFile), log);
    return draw_graph(options, flags_, trace->get(), log);
  }

 private:
  DrawFlags flags_;
};

}  // namespace

std::unique_ptr<Command> make_draw_command() { return std::make_unique<DrawCommand>(); }

}  // namespace emplace
