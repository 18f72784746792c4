/// What the subcommands share: their table, and where results go.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "core/base/json_writer.h"
#include "core/base/log.h"
#include "core/pipeline.h"

namespace emplace {

struct Command {
  std::string_view name, summary;
  /// Returns the exit code.
  int (*run)(const Options& options, Log& log);
};

int run_command(const Options& options, Log& log);
int place_command(const Options& options, Log& log);
int train_command(const Options& options, Log& log);
int explain_command(const Options& options, Log& log);
int check_command(const Options& options, Log& log);
int devices_command(const Options& options, Log& log);
int ops_command(const Options& options, Log& log);

/// Standard output: results only. After a failure (a closed pipe, a full disk) further text is dropped.
void print(std::string_view text);
/// Results can no longer be written: what is under way may stop.
bool output_failed();
/// Flushes. 0, or the exit code of what kept results from being written: 141 for a closed pipe, else 1.
int finish_output(Log& log);

/// Usage error: says it, returns 2.
int usage(Log& log, std::string_view message);
/// Says why the pipeline failed, in the form of its stage; returns the exit code.
int report_failure(const Pipeline& pipeline, const Status& status, Log& log);

/// Runs `one` for each graph file: until the first failure, or all with --keep-going; then the line
/// "PASSED n, FAILED m" if there are several. Returns the first exit code that is not 0.
int for_each_graph(const Options& options, Log& log, const std::function<int(const std::string& path)>& one);

/// "placed 412 nodes: ... | peak ...". REQUIRES: a session.
std::string summary_line(const Pipeline& pipeline);
/// The document's member "summary". REQUIRES: a session.
void write_summary(JsonWriter& json, const Pipeline& pipeline);
/// --memory-report; `form` "": nothing.
void report_memory(const std::string& form, const DeviceSet& devices, const std::vector<DeviceMemory>& memory,
                   Log& log);

}  // namespace emplace
