#include "core/base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/cat.h"
#include "core/base/descriptor.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/base/stop.h"

namespace emplace {
namespace {

std::string_view color_of(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "\033[1;31m";
    case LogLevel::kWarning:
      return "\033[1;33m";
    case LogLevel::kDebug:
      return "\033[2m";
    default:
      return "";
  }
}

}  // namespace

Log::~Log() {
  if (file_ != STDERR_FILENO) ::close(file_);
}

Status Log::open(const std::string& path) {
  const int file = open_to_append(path, O_CREAT);
  if (file < 0 && stop_requested()) return stop_status().with_context("--log-file");
  if (file < 0)
    return invalid_argument(cat("cannot write to log file '", printable(path), "': ", std::strerror(errno)));
  if (file_ != STDERR_FILENO) ::close(file_);
  file_ = file;
  path_ = path;
  return ok_status();
}

void Log::set_color(ColorMode mode) {
  const char* no_color = std::getenv("NO_COLOR");
  bool refused = no_color && *no_color;
  color_ = mode == ColorMode::kAlways ||
           (mode == ColorMode::kAuto && !refused && file_ == STDERR_FILENO && isatty(STDERR_FILENO));
}

void Log::say(LogLevel level, std::string_view text) {
  write(level, level == LogLevel::kWarning ? "warning: " : level == LogLevel::kError ? "error: " : "", text);
}

void Log::write(LogLevel level, std::string_view prefix, std::string_view message) {
  if (!shows(level)) return;
  const bool named = subject_.empty() || message.starts_with(subject_) || message.starts_with(' ');
  // Of a table, the subject is a line of its own.
  const bool table = prefix.empty() && message.substr(0, message.size() - 1).find('\n') != message.npos;
  const std::string text =
      printable(named ? std::string(message) : cat(subject_, table ? ":\n" : ": ", message), LineEnds::kKept);
  std::string line;
  std::string_view painted = prefix.empty() && level == LogLevel::kDebug ? std::string_view(text) : prefix;
  if (color_ && !painted.empty()) {
    append(line, color_of(level), painted, "\033[0m", prefix.empty() ? std::string_view{} : std::string_view(text));
  } else {
    append(line, prefix, text);
  }
  if (line.empty() || line.back() != '\n') line += '\n';
  std::lock_guard lock(mutex_);
  send(line);
}

void Log::send(std::string_view line) {
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
