/// What a subcommand is, and what subcommands share beside options: where results and failures go.
///
/// A subcommand is a class in a file of its own in cli/, and a row in the table of cli/command_list.cpp. Its own
/// options are members of the class; those that others have too are groups in cli/options.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "core/base/json_writer.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/pipeline.h"

namespace emplace {

class Command {
 public:
  virtual ~Command() = default;
  /// Declares everything that it takes, in the order of its help page. `options` and the command outlive the set.
  virtual void declare(OptionSet& set, Options& options) = 0;
  /// Does this process write what the options name? Not where it only serves another one that was told the same.
  virtual bool writes(const Options& /*options*/) const { return true; }
  /// After the options were read. Returns the exit code.
  virtual int run(const Options& options, Log& log) = 0;
};

/// Standard output: results only, at once: what was printed is there after kill -9. A call writes a line or a record
/// whole. After a failure (a closed pipe, a full disk) further text is dropped.
void print(std::string_view text);
/// The same of a text with names of others in it: what acts on a terminal is escaped.
void print_lines(std::string_view text);
/// Columns of the terminal that standard output, or standard error, is; 0: it is none.
size_t output_width();
size_t error_width();
/// Results can no longer be written: what is under way may stop.
bool output_failed();
/// `code`, or the exit code of what kept results and the log from being written: 141 for a closed pipe, 8 or 128 + n
/// where the time or a signal ended the waiting for a reader, else 1.
int finish_output(Log& log, int code);

/// exit_code(), and of what a signal ended 128 + n.
int end_code(const Status& status);

/// The form of the document that a failure before any other document gives: kJson, kJsonl, or none.
void set_document_format(Format format);
/// Says what failed before there was a graph, as a document too if one is wanted; returns the exit code.
int report_error(const Status& status, Log& log);
/// The same of a usage error.
int usage(Log& log, std::string_view message);
/// The same of what an option names; memory, time and signals keep their own exit codes.
int usage(Log& log, const Status& status);
/// Says why a stage failed, with all problems of the file, or all nodes that cannot be placed; returns the exit code.
int report_failure(const StageContext& context, const Status& status);
/// The same, and a document of the failure if one is wanted: of commands whose own document tells of results only.
int fail(const StageContext& context, const Status& status);

/// `run`'s exit code, or 6: tables and documents may come to the limit of host memory anywhere.
int within_memory(Log& log, const std::function<int()>& run);

/// Runs `one` for each graph file: until the first failure, or all with --keep-going; then the line
/// "PASSED n, FAILED m" if there are several. Returns the first exit code that is not 0.
int for_each_graph(const Options& options, Log& log, const std::function<int(const std::string& path)>& one);

/// "placed 412 nodes: ... | peak ...".
std::string summary_line(const Planned& planned);
/// The document's member "summary".
void write_summary(JsonWriter& json, const Planned& planned);
/// --memory-report, if it was asked for.
void report_memory(std::optional<Format> form, const DeviceSet& devices, const std::vector<DeviceMemory>& memory,
                   Log& log);
/// --step-report, likewise.
void report_steps(std::optional<Format> form, const RunWatch& watch, Log& log);

}  // namespace emplace
