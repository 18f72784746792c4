#include "core/base/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/cat.h"

namespace emplace {
namespace {

Status failure(const std::string& path) {
  return unavailable(cat("cannot write '", path, "': ", std::strerror(errno))).blamed(Blame::kWrite);
}

/// 0, or -1 with errno.
int write_all(int file, std::string_view bytes) {
  constexpr size_t kPiece = size_t{1} << 30;
  while (!bytes.empty()) {
    ssize_t n = ::write(file, bytes.data(), std::min(bytes.size(), kPiece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

void sync_folder(const std::string& path) {
  auto slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);  // not every file system can; the rename has happened
  ::close(file);
}

}  // namespace

Status write_durably(const std::string& path, const std::function<Status(const ByteSink&)>& content) {
  const std::string part = cat(path, kPartEnding);
  int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return failure(path);
  Status status =
      content([&](std::string_view bytes) { return write_all(file, bytes) == 0 ? ok_status() : failure(path); });
  if (status.ok() && ::fsync(file) != 0) status = failure(path);
  if (::close(file) != 0 && status.ok()) status = failure(path);
  if (status.ok() && std::rename(part.c_str(), path.c_str()) != 0) status = failure(path);
  if (!status.ok()) {
    ::unlink(part.c_str());
    return status;
  }
  sync_folder(path);
  return ok_status();
}

Status write_durably(const std::string& path, std::string_view bytes) {
  return write_durably(path, [bytes](const ByteSink& sink) { return sink(bytes); });
}

}  // namespace emplace
