// emplace ops: the ops that emplace runs, or one op's page.
#include <array>

#include "cli/command.h"
#include "core/report/ops_page.h"

namespace emplace {
namespace {

class OpsCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.positional("[OP]", "Without an op: all of them.", o.arguments);
    set.group("Files and output");
    declare_format(set, o, std::array{Format::kText, Format::kJson});
  }

  int run(const Options& options, Log& log) override {
    const bool json = options.format == Format::kJson;
    if (options.arguments.empty()) return print(json ? ops_table_json() : ops_table_text()), 0;
    for (const std::string& op : options.arguments) {
      Result<std::string> page = json ? ops_page_json(op) : ops_page_text(op);
      if (!page.ok()) return usage(log, page.status().message());
      print(*page);
    }
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_ops_command() { return std::make_unique<OpsCommand>(); }

}  // namespace emplace
