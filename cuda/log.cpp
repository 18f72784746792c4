#include "cuda/log.h"

#include <mutex>

namespace emplace::cuda {
namespace {

std::mutex log_mutex;
GpuLog listener;  // guarded by log_mutex

}  // namespace

void speak_to(GpuLog log) {
  std::lock_guard lock(log_mutex);
  listener = log;
}

void say(LogLevel level, std::string_view text) {
  std::lock_guard lock(log_mutex);
  listener(level, text);
}

}  // namespace emplace::cuda
