/// Log: what emplace says beside its results: errors, warnings, the summary line, times. To standard error, or to a
/// file; coloured on a terminal only. A logger of spdlog's, with a sink of ours (core/base/log_sink.h). One object,
/// made by main and handed down. Any thread may write: a line is one write(2), whole at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace spdlog {
class logger;
}

namespace emplace {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class ColorMode { kAuto, kAlways, kNever };

class LogSink;

class Log {
 public:
  Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  void set_level(LogLevel level);
  /// Sends every line to the end of this file instead of standard error. What it no longer takes stands there, which
  /// is said.
  Status open(const std::string& path);
  /// Why the file, or standard error, did not take all: Unavailable, or what ended the waiting for a reader. A closed
  /// standard error is none: there is nobody to tell.
  const Status& lost() const;
  /// kAuto: on a terminal, unless NO_COLOR is set and not empty.
  void set_color(ColorMode mode);

  /// What the next lines are about, such as the graph file at hand: stands before each that does not begin with it.
  void set_subject(std::string subject) { subject_ = std::move(subject); }

  bool shows(LogLevel level) const;
  void debug(std::string_view text) { write(LogLevel::kDebug, "", text); }
  void info(std::string_view text) { write(LogLevel::kInfo, "", text); }
  void warning(std::string_view text) { write(LogLevel::kWarning, "warning: ", text); }
  void error(std::string_view text) { write(LogLevel::kError, "error: ", text); }
  void say(LogLevel level, std::string_view text);
  /// An error that is a whole message already, such as one with file, line and column.
  void problem(std::string_view text) { write(LogLevel::kError, "", text); }
  /// A line of another process, which has judged itself what it says: as it is, unless nothing is to be said.
  void relay(std::string_view line);

 private:
  void write(LogLevel level, std::string_view prefix, std::string_view text);

  const std::shared_ptr<LogSink> sink_;
  const std::unique_ptr<spdlog::logger> logger_;
  std::string subject_;
};

}  // namespace emplace
