#include "core/base/log.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "core/base/cat.h"
#include "core/base/foreign_words.h"
#include "core/base/log_sink.h"
#include "core/base/printable.h"

namespace emplace {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                                   spdlog::level::err, spdlog::level::off};
  return kLevels[static_cast<int>(level)];
}

}  // namespace

Log::Log() : sink_(std::make_shared<LogSink>()), logger_(std::make_unique<spdlog::logger>("emplace", sink_)) {}

Log::~Log() = default;

void Log::set_level(LogLevel level) { logger_->set_level(level_of(level)); }

bool Log::shows(LogLevel level) const { return logger_->should_log(level_of(level)); }

Status Log::open(const std::string& path) { return sink_->open(path); }

const Status& Log::lost() const { return sink_->lost(); }

void Log::set_color(ColorMode mode) {
  const char* no_color = std::getenv("NO_COLOR");
  bool refused = no_color && *no_color;
  sink_->set_color(mode == ColorMode::kAlways ||
                   (mode == ColorMode::kAuto && !refused && sink_->is_console() && isatty(STDERR_FILENO)));
}

void Log::say(LogLevel level, std::string_view text) {
  write(level, level == LogLevel::kWarning ? "warning: " : level == LogLevel::kError ? "error: " : "", text);
}

void Log::relay(std::string_view line) {
  logger_->log(spdlog::level::err, spdlog::string_view_t(line.data(), line.size()));
}

void Log::write(LogLevel level, std::string_view prefix, std::string_view message) {
  if (!shows(level)) return;
  const bool named = subject_.empty() || message.starts_with(subject_) || message.starts_with(' ');
  // Of a table, the subject is a line of its own.
  const bool table = prefix.empty() && message.substr(0, message.size() - 1).find('\n') != message.npos;
  const std::string line =
      cat(prefix,
          printable(escape_foreign_words(named ? std::string(message) : cat(subject_, table ? ":\n" : ": ", message)),
                    LineEnds::kKept));
  logger_->log(level_of(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace emplace
