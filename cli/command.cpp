#include "cli/command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "cli/lost_file.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/descriptor.h"
#include "core/base/exit_code.h"
#include "core/base/heap_limit.h"
#include "core/base/printable.h"
#include "core/base/schema.h"
#include "core/base/stop.h"
#include "core/base/terminal.h"
#include "core/report/run_report.h"

namespace emplace {
namespace {

constexpr int kClosedPipe = 128 + 13;  // SIGPIPE: the reader has seen enough

int stdout_error = 0;  // errno of the first write to standard output that failed
Status stdout_stop;    // what ended the waiting for its reader
Format document_format = Format::kText;

/// The document of a failure, or nothing if none is wanted. `path`: the graph's, if there is one.
std::string error_document(const Status& status, int code, std::string_view path) {
  if (document_format != Format::kJson && document_format != Format::kJsonl) return {};
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  if (document_format == Format::kJsonl) json.member("event", "end");
  write_schema(json, Document::kError);
  if (!path.empty()) json.key("graph").begin_object().member("file", path).end_object();
  if (document_format == Format::kJsonl) json.member("status", code_name(status.code()));
  json.member("exit", code).key("error");
  write_error(json, status);
  json.end_object();
  return out + "\n";
}

void print_error(const Status& status, int code, std::string_view path) {
  if (const std::string document = error_document(status, code, path); !document.empty()) print(document);
}

int output_code() {
  if (stdout_error == 0) return 0;
  return !stdout_stop.ok() ? end_code(stdout_stop) : stdout_error == EPIPE ? kClosedPipe : 1;
}

}  // namespace

void print(std::string_view text) {
  if (stdout_error != 0) return;
  stdout_error = write_console(STDOUT_FILENO, text);
  if (stdout_error == EINTR) stdout_stop = stop_status();
}

void print_lines(std::string_view text) { print(wrapped(printable(text, LineEnds::kKept), output_width(), true)); }

size_t output_width() { return terminal_width(STDOUT_FILENO); }
size_t error_width() { return terminal_width(STDERR_FILENO); }

bool output_failed() { return stdout_error != 0; }

int finish_output(Log& log, int code) {
  if (!stdout_stop.ok()) {
    log.error(cat("standard output is full and nobody reads it: ", stdout_stop.message()));
    return output_code();
  }
  if (stdout_error != 0 && stdout_error != EPIPE)
    log.error(cat("cannot write to standard output: ", std::strerror(stdout_error)));
  if (code == 0) code = output_code();
  return code == 0 || log.lost().code() != Code::kUnavailable ? std::max(code, end_code(log.lost())) : code;
}

int end_code(const Status& status) {
  const int signal = status.code() == Code::kCancelled ? caught_signal() : 0;
  return signal != 0 ? 128 + signal : exit_code(status);
}

void set_document_format(Format format) {
  document_format = format;
  constexpr std::string_view kMessage = "THE MESSAGE";
  const Status lost = Status(Code::kDataLoss, std::string(kMessage)).blamed(Blame::kData);
  const std::string document = error_document(lost, exit_code(lost), {});
  const size_t at = document.find(kMessage);
  if (at == document.npos) return set_lost_file_document({}, {});
  set_lost_file_document(document.substr(0, at), document.substr(at + kMessage.size()));
}

int report_error(const Status& status, Log& log) {
  const int signal = status.code() == Code::kCancelled ? caught_signal() : 0;
  log.error(signal != 0 ? cat("stopped by ", strsignal(signal)) : status.message());
  const int code = end_code(status);
  print_error(status, code, {});
  return code;
}

int usage(Log& log, std::string_view message) {
  return report_error(invalid_argument(std::string(message)).blamed(Blame::kUsage), log);
}

int usage(Log& log, const Status& status) {
  const Code code = status.code();
  const bool ended = code == Code::kResourceExhausted || code == Code::kDeadlineExceeded || code == Code::kCancelled;
  return ended ? report_error(status, log) : usage(log, status.message());
}

int report_failure(const StageContext& c, const Status& status) {
  Log& log = c.log;
  if (int signal = caught_signal(); signal != 0 && status.code() == Code::kCancelled) {
    log.error(cat(printable(c.path), ": stopped by ", strsignal(signal)));
    return 128 + signal;
  }
  if (output_failed() && status.code() == Code::kCancelled) return output_code();  // main says why
  const int code = exit_code(status);
  if (!c.found.problems.empty()) {
    log.problem(c.found.problems.to_string(*c.found.source));
    return code;
  }
  status.blame() == Blame::kData ? log.problem(status.message()) : log.error(status.message());
  for (const std::string& offender : c.found.offenders) log.problem(offender);
  // Perhaps what is missing is a GPU: say why there is none.
  auto misses_gpu = [](const std::string& line) {
    const size_t begin = std::min(line.find("): "), line.size());  // behind the names of file, node and op
    return line.find("gpu", begin) != line.npos || line.find("GPU", begin) != line.npos ||
           line.find("no kernel", begin) != line.npos;
  };
  bool missed = std::any_of(c.found.offenders.begin(), c.found.offenders.end(), misses_gpu);
  if (code == 4 && missed && !c.found.devices->no_gpu_cause.empty())
    log.problem(cat("no GPU: ", c.found.devices->no_gpu_cause));
  if (c.found.soft_placement_helps)
    log.problem("hint: --allow-soft-placement runs elsewhere what cannot be where it is asked for");
  return code;
}

int fail(const StageContext& c, const Status& status) {
  const int code = report_failure(c, status);
  print_error(status, code, c.path);
  return code;
}

int within_memory(Log& log, const std::function<int()>& run) {
  try {
    return run();
  } catch (const HeapOverLimit& refused) {
    return report_error(resource_exhausted(refused.what()), log);
  } catch (const std::length_error&) {
    return report_error(resource_exhausted("more elements than any memory holds"), log);
  } catch (const std::system_error& refused) {
    if (refused.code() != std::errc::resource_unavailable_try_again) throw;
    return report_error(resource_exhausted("the system gives no memory for one more thread, or no more threads"), log);
  }
}

int for_each_graph(const Options& options, Log& log, const std::function<int(const std::string& path)>& one) {
  if (options.arguments.empty()) return usage(log, "no graph file given");
  if (std::count(options.arguments.begin(), options.arguments.end(), "-") > 1)
    return usage(log, "'-' (standard input) can be read once only");
  if (std::count(options.arguments.begin(), options.arguments.end(), "") > 0)
    return usage(log, "'' is not a file name");
  int passed = 0, failed = 0, first = 0;
  const bool several = options.arguments.size() > 1;
  for (const std::string& path : options.arguments) {
    if (several) log.set_subject(path == "-" ? "<stdin>" : printable(path));
    const int code = within_memory(log, [&] { return one(path); });
    log.set_subject({});
    code == 0 ? ++passed : ++failed;
    if (first == 0) first = code;
    if (code > 128 || (code != 0 && !options.keep_going)) break;
  }
  if (several) log.info(cat("PASSED ", passed, ", FAILED ", failed));
  return first;
}

}  // namespace emplace
