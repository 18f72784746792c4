// emplace check: load and validate only; all problems of a file in one pass.
#include <algorithm>
#include <array>

#include "cli/command.h"
#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/base/units.h"
#include "core/report/run_report.h"
#include "core/train/check_training.h"

namespace emplace {
namespace {

int64_t count_edges(const Graph& g, bool control) {
  int64_t n = 0;
  for (NodeId id = 0; id < g.num_nodes(); ++id) n += control ? g.node(id).num_controls : g.node(id).num_inputs;
  return n;
}

/// What a sound file holds.
std::string check_text(const Pipeline& p) {
  const Graph& g = p.file()->graph;
  const auto functions = static_cast<int64_t>(p.file()->library.size());
  return cat(p.source()->name(), ": ", counted(g.num_nodes(), "node"), ", ",
             counted(count_edges(g, false), "data input"), ", ", counted(count_edges(g, true), "control input"),
             functions > 0 ? ", " + counted(functions, "function") : "", "\n");
}

std::string check_json(const Pipeline& p, const Status& status, int code) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("schema_version", 1).key("graph").begin_object().member("file", p.path()).end_object();
  if (status.ok()) {
    const Graph& g = p.file()->graph;
    json.key("summary").begin_object().member("nodes", g.num_nodes()).member("data_inputs", count_edges(g, false));
    json.member("control_inputs", count_edges(g, true)).member("functions", p.file()->library.size()).end_object();
  }
  json.key("problems").begin_array();
  std::vector<Problem> problems = p.problems().list();
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.position < b.position; });
  for (const Problem& problem : problems) {
    json.begin_object();
    if (problem.position != kNoPosition) {
      Source::LineColumn at = p.source()->locate(static_cast<size_t>(problem.position));
      json.member("line", at.line).member("column", at.column);
    }
    json.member("code", code_name(problem.code))
        .member("message", problem.message)
        .member("hint", problem.hint)
        .end_object();
  }
  json.end_array().member("problem_count", p.problems().count()).member("exit", code).key("error");
  write_error(json, status);
  json.end_object();
  return out + "\n";
}

int check_graph(const Options& options, const std::string& path, Log& log) {
  Pipeline p(options.pipeline, path, log);
  p.check_ops = options.pipeline.placing.available_kernels_only;
  std::string of_files;
  p.on_checked = [&](const GraphFile& file, Problems& problems) {
    of_files = check_training(file, options.pipeline.load, problems.empty(), problems);
    while (of_files.ends_with('\n')) of_files.pop_back();
    return of_files.empty() ? ok_status() : invalid_argument(of_files);
  };
  Status status = p.run(Stage::kValidate);
  int code = status.ok() ? 0 : p.problems().empty() && !of_files.empty() ? 3 : report_failure(p, status, log);
  if (!of_files.empty()) log.problem(of_files);
  if (options.format == Format::kJson) {
    print(check_json(p, status, code));
  } else if (code == 0) {
    print(check_text(p));
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
