#include "core/base/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "core/base/stop.h"

namespace emplace {

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
  constexpr size_t kPiece = size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), std::min(bytes.size(), kPiece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // whoever shares the pipe has made it so
      pollfd ready = {file, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
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
