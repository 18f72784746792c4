/// Log: what emplace says beside its results: errors, warnings, the summary line, times. To standard error, or to a
/// file; coloured on a terminal only. One object, made by main and handed down. Any thread may write: a line is one
/// write(2), whole at once.
#pragma once

#include <unistd.h>

#include <mutex>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class ColorMode { kAuto, kAlways, kNever };

class Log {
 public:
  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  void set_level(LogLevel level) { level_ = level; }
  /// Sends every line to the end of this file instead of standard error. What it no longer takes stands there, which
  /// is said.
  Status open(const std::string& path);
  /// Why the file, or standard error, did not take all: Unavailable, or what ended the waiting for a reader. A closed
  /// standard error is none: there is nobody to tell.
  const Status& lost() const { return lost_; }
  /// kAuto: on a terminal, unless NO_COLOR is set and not empty.
  void set_color(ColorMode mode);

  /// What the next lines are about, such as the graph file at hand: stands before each that does not begin with it.
  void set_subject(std::string subject) { subject_ = std::move(subject); }

  bool shows(LogLevel level) const { return level >= level_; }
  void debug(std::string_view text) { write(LogLevel::kDebug, "", text); }
  void info(std::string_view text) { write(LogLevel::kInfo, "", text); }
  void warning(std::string_view text) { write(LogLevel::kWarning, "warning: ", text); }
  void error(std::string_view text) { write(LogLevel::kError, "error: ", text); }
  void say(LogLevel level, std::string_view text);
  /// An error that is a whole message already, such as one with file, line and column.
  void problem(std::string_view text) { write(LogLevel::kError, "", text); }

 private:
  void write(LogLevel level, std::string_view prefix, std::string_view text);
  void send(std::string_view line);

  LogLevel level_ = LogLevel::kInfo;
  int file_ = STDERR_FILENO;
  bool color_ = false;
  std::string subject_;
  std::string path_;  // of the file
  // Guarded by mutex_.
  std::mutex mutex_;
  Status lost_;
};

}  // namespace emplace
