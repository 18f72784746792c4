#include "core/base/log_sink.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/cat.h"
#include "core/base/descriptor.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
#include "core/base/terminal.h"

namespace emplace {
namespace {

std::string_view text_of(const spdlog::string_view_t& text) { return {text.data(), text.size()}; }

std::string_view color_of(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::err:
      return "\033[1;31m";
    case spdlog::level::warn:
      return "\033[1;33m";
    case spdlog::level::debug:
      return "\033[2m";
    default:
      return "";
  }
}

}  // namespace

void LogFormatter::format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) {
  const std::string_view text = text_of(message.payload);
  message.color_range_start = line.size();
  if (message.level == spdlog::level::debug) {
    message.color_range_end = line.size() + text.size() - (text.ends_with('\n') ? 1 : 0);
  } else {
    const std::string_view before = message.level == spdlog::level::err ? "error: " : "warning: ";
    message.color_range_end = line.size() + (text.starts_with(before) ? before.size() : 0);
  }
  line.append(text.data(), text.data() + text.size());
  if (!text.ends_with('\n')) line.push_back('\n');
}

LogSink::~LogSink() {
  if (file_ != STDERR_FILENO) ::close(file_);
}

Status LogSink::open(const std::string& path) {
  const int file = open_to_append(path, O_CREAT);
  if (file < 0 && stop_requested()) return stop_status().with_context("--log-file");
  if (file < 0)
    return invalid_argument(cat("cannot write to log file '", printable(path), "': ", std::strerror(errno)));
  if (file_ != STDERR_FILENO) ::close(file_);
  file_ = file;
  path_ = path;
  return ok_status();
}

void LogSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  std::string line(formatted.data(), formatted.size());
  if (file_ == STDERR_FILENO && message.level != spdlog::level::debug)
    line = wrapped(line, terminal_width(file_), false);
  const size_t begin = message.color_range_start, end = message.color_range_end;
  if (!color_ || begin == end) return send(line);
  send(cat(line.substr(0, begin), color_of(message.level), line.substr(begin, end - begin), "\033[0m",
           line.substr(end)));
}

void LogSink::send(std::string_view line) {
  constexpr std::string_view kHere = "; what is said stands here\n";
  std::string notice;
  int error = 0;
  if (file_ != STDERR_FILENO && is_kept_file(file_)) {  // which is known only once the graph was read
    notice = cat("error: --log-file names a file that the graph reads", kHere);
  } else {
    error = write_console(file_, line);
    if (error == 0) return;
    const Status stopped = error == EINTR ? stop_status() : ok_status();
    if (file_ == STDERR_FILENO) {  // there is nobody to tell
      lost_ = stopped;
      return;
    }
    const std::string why = stopped.ok() ? std::strerror(error) : stopped.message();
    notice = cat("error: --log-file: cannot write '", printable(path_), "': ", why, kHere);
    lost_ = stopped.ok() ? unavailable(why).blamed(Blame::kWrite) : stopped;
  }
  ::close(std::exchange(file_, STDERR_FILENO));
  if (write_console(file_, cat(notice, line)) == EINTR) lost_ = stop_status();
}

}  // namespace emplace
