/// LogSink: where the log's lines go, as a sink of spdlog's: standard error, or a file.
///
/// Not spdlog's own file sink: that opens by fopen() and tries again after a signal. At a pipe that nobody reads it was
/// still waiting 10 s after one; --timeout 0.3 ends a command there in 0.3 s. Nor does it say what stands elsewhere
/// when a disk is full.
#pragma once

#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/status.h"

#define SPDLOG_HEADER_ONLY
#define FMT_HEADER_ONLY
#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

namespace emplace {

/// A message as a line, "error: " and "warning: " before it painted, of debugging all of it.
class LogFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override;
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<LogFormatter>(); }
};

/// A line is one write(2), whole at once.
class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LogSink() : base_sink(std::make_unique<LogFormatter>()) {}
  ~LogSink() override;

  /// Lines go to the end of this file from now on. What it no longer takes stands on standard error, which is said.
  Status open(const std::string& path);
  void set_color(bool color) { color_ = color; }
  bool is_console() const { return file_ == STDERR_FILENO; }
  const Status& lost() const { return lost_; }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  void send(std::string_view line);

  bool color_ = false;
  // Guarded by the sink's mutex.
  int file_ = STDERR_FILENO;
  std::string path_;  // of the file
  Status lost_;
};

}  // namespace emplace
