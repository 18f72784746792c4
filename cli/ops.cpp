// emplace ops: the ops that emplace runs, one op's page, or what of some graphs does not run.
#include <array>

#include "cli/command.h"
#include "core/base/exit_code.h"
#include "core/base/schema.h"
#include "core/formats/onnx/unread_ops.h"
#include "core/report/missing_ops.h"
#include "core/report/ops_page.h"

namespace emplace {
namespace {

class OpsCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.positional("[OP...]", "Without an op: all of them. With --missing: graph files.", o.arguments);
    set.group("Graphs");
    set.flag("missing", "count what of these graph files cannot run: ops, types, kernels for GPUs", missing_);
    set.group("Files and output");
    declare_loading(set, o.pipeline);
    declare_format(set, o, std::array{Format::kText, Format::kJson});
  }

  int run(const Options& options, Log& log) override {
    const bool json = options.format == Format::kJson;
    if (missing_) return count_missing(options, log);
    if (options.arguments.empty()) return print(json ? ops_table_json() : ops_table_text(output_width())), 0;
    for (const std::string& op : options.arguments) {
      Result<std::string> page = json ? ops_page_json(op) : ops_page_text(op);
      if (!page.ok()) return usage(log, page.status());
      print(*page);
    }
    return 0;
  }

 private:
  /// Every file is read, whatever becomes of the others. Returns the first exit code that `check` would have.
  static int count_missing(const Options& options, Log& log) {
    MissingOps missing;
    Options all = options;
    all.keep_going = true;
    const int code = for_each_graph(all, log, [&](const std::string& path) {
      StageContext c(options.pipeline, path, log);
      const Result<Loaded> loaded = load_graph(c);
      if (!loaded.ok()) return missing.add_failed(missing_onnx_ops(c)), report_failure(c, loaded.status());
      validate(*loaded->file, c.found.problems);
      const bool lacks = missing.add(*loaded->file);
      if (c.found.problems.empty()) return lacks ? exit_code(unimplemented("").blamed(Blame::kFile)) : 0;
      const Problem& first = c.found.problems.list().front();
      return report_failure(c, Status(first.code, first.message).blamed(Blame::kFile));
    });
    if (options.arguments.empty() || code > 128) return code;
    if (options.format == Format::kText) return print_lines(missing.text()), code;
    std::string out;
    JsonWriter json(out);
    write_schema(json.begin_object(), Document::kMissingOps);
    missing.write(json);
    json.member("exit", code).end_object();
    return print(out + "\n"), code;
  }

  static std::vector<MissingOnnxOp> missing_onnx_ops(const StageContext& c) {
    std::vector<MissingOnnxOp> out;
    for (UnreadOnnxOp& op : unread_onnx_ops(c.found.source))
      out.push_back({std::move(op.domain), std::move(op.op), op.opset, op.nodes});
    return out;
  }

  bool missing_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ops_command() { return std::make_unique<OpsCommand>(); }

}  // namespace emplace
