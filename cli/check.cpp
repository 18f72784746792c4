// emplace check: load and validate only; all problems of a file in one pass.
#include <algorithm>
#include <array>

#include "cli/command.h"
#include "cli/model_facts.h"
#include "core/base/cat.h"
#include "core/base/exit_code.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/units.h"
#include "core/report/run_report.h"

namespace emplace {
namespace {

int64_t count_edges(const Graph& g, bool control) {
  int64_t n = 0;
  for (NodeId id = 0; id < g.num_nodes(); ++id) n += control ? g.node(id).num_controls : g.node(id).num_inputs;
  return n;
}

/// What a sound file holds.
std::string check_text(const StageContext& c, const Validated& validated, const std::optional<ModelFacts>& model) {
  const Graph& g = validated.file->graph;
  const auto functions = static_cast<int64_t>(validated.file->library.size());
  return cat(printable(c.found.source->name()), ": ", counted(g.num_nodes(), "node"), ", ",
             counted(count_edges(g, false), "data input"), ", ", counted(count_edges(g, true), "control input"),
             functions > 0 ? ", " + counted(functions, "function") : "", "\n", model ? model_text(*model) : "");
}

std::string check_json(const StageContext& c, const Result<Validated>& checked, const std::optional<ModelFacts>& model,
                       const Status& status, int code) {
  std::string out;
  JsonWriter json(out);
  write_schema(json.begin_object(), Document::kCheck);
  if (model) write_model(json, *model);
  json.key("graph").begin_object().member("file", c.path).end_object();
  if (checked.ok()) {
    const Graph& g = checked->file->graph;
    json.key("summary").begin_object().member("nodes", g.num_nodes()).member("data_inputs", count_edges(g, false));
    json.member("control_inputs", count_edges(g, true)).member("functions", checked->file->library.size()).end_object();
  }
  json.key("problems").begin_array();
  std::vector<Problem> problems = c.found.problems.list();
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.position < b.position; });
  for (const Problem& problem : problems) {
    json.begin_object();
    if (problem.position != kNoPosition) {
      Source::LineColumn at = c.found.source->locate(static_cast<size_t>(problem.position));
      json.member("line", at.line).member("column", at.column);
    }
    json.member("code", code_name(problem.code))
        .member("message", problem.message)
        .member("hint", problem.hint)
        .end_object();
  }
  json.end_array().member("problem_count", c.found.problems.count()).member("exit", code).key("error");
  write_error(json, status);
  json.end_object();
  return out + "\n";
}

int check_graph(const Options& options, const std::string& path, Log& log) {
  StageContext c(options.pipeline, path, log);
  const Result<Validated> checked = check_file(c, options.pipeline.placing.available_kernels_only);
  const std::string& of_data = c.found.data_problems;
  const bool data_only = c.found.problems.empty() && !of_data.empty();
  int code = checked.ok() ? 0 : data_only ? exit_code(checked.status()) : report_failure(c, checked.status());
  Status status = checked.status();
  std::optional<ModelFacts> model;
  if (checked.ok()) {
    Problems ignored;  // check has told them
    Result<std::optional<ModelFacts>> found = model_facts(*checked->file, ignored);
    found.ok() ? static_cast<void>(model = found.take())
               : static_cast<void>(status = found.status().blamed(Blame::kFile));
    if (!status.ok()) code = report_failure(c, status);
  }
  if (!of_data.empty()) log.problem(of_data);
  if (options.format == Format::kJson) {
    print(check_json(c, checked, model, status, code));
  } else if (code == 0) {
    print_lines(check_text(c, *checked, model));
  }
  return code;
}

class CheckCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    o.pipeline.placing.available_kernels_only = true;
    set.positional("GRAPH...", kGraphsHelp, o.arguments);
    set.group("Placement");
    declare_kernels(set, o.pipeline.placing);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_keep_going(set, o);
    declare_format(set, o, std::array{Format::kText, Format::kJson});
  }

  int run(const Options& options, Log& log) override {
    return for_each_graph(options, log, [&](const std::string& path) { return check_graph(options, path, log); });
  }
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace emplace
