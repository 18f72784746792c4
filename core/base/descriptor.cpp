#include "core/base/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <mutex>

#include "core/base/stop.h"

namespace emplace {
namespace {

/// Waits for whoever reads it; false: asked to stop, and still nobody has read. Readers that are merely slow get a
/// moment more for the last words, one for the whole process.
bool takes_more(int file) {
  constexpr int kPauseMs = 20;
  static std::atomic<int> pauses_left{10};
  pollfd ready = {file, POLLOUT, 0};
  while (::poll(&ready, 1, kPauseMs) <= 0) {
    if (stop_requested() && --pauses_left < 0) return false;
  }
  return true;
}

}  // namespace

int open_to_append(const std::string& path, int more_flags) {
  constexpr int kPauseMs = 10;
  const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | more_flags;
  struct stat there = {};
  const bool pipe = ::stat(path.c_str(), &there) == 0 && S_ISFIFO(there.st_mode);
  int file = ::open(path.c_str(), flags | O_NONBLOCK, 0666);
  while (file < 0 && errno == ENXIO && pipe) {
    if (stop_requested()) {
      errno = EINTR;
      return -1;
    }
    ::poll(nullptr, 0, kPauseMs);
    file = ::open(path.c_str(), flags | O_NONBLOCK, 0666);
  }
  if (file >= 0) ::fcntl(file, F_SETFL, flags);
  return file;
}

int write_all(int file, std::string_view bytes) {
  struct stat info = {};
  const bool waits = ::fstat(file, &info) != 0 || !S_ISREG(info.st_mode);
  // What a pipe takes without waiting for its reader, once it takes anything.
  const size_t piece = waits ? PIPE_BUF : size_t{1} << 30;
  while (!bytes.empty()) {
    if (waits && !takes_more(file)) return EINTR;
    const ssize_t n = ::write(file, bytes.data(), std::min(bytes.size(), piece));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

int write_console(int file, std::string_view bytes) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  return write_all(file, bytes);
}

}  // namespace emplace
