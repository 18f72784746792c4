#include "core/base/descriptor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace emplace {

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
