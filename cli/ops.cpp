// emplace ops: the ops that emplace runs, or one op's page.
#include "cli/command.h"
#include "core/report/ops_page.h"

namespace emplace {

int ops_command(const Options& options, Log& log) {
  bool json = options.format == "json";
  if (options.arguments.empty()) return print(json ? ops_table_json() : ops_table_text()), 0;
  for (const std::string& op : options.arguments) {
    Result<std::string> page = json ? ops_page_json(op) : ops_page_text(op);
    if (!page.ok()) return usage(log, page.status().message());
    print(*page);
  }
  return 0;
}

}  // namespace emplace
