#include "core/base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/cat.h"
#include "core/base/descriptor.h"
#include "core/base/printable.h"

namespace emplace {
namespace {

/// The process id that the lock's owner wrote into the file, for the message.
std::string owner_of(int file) {
  char text[32] = {};
  const ssize_t n = ::pread(file, text, sizeof text - 1, 0);
  std::string number(text, n > 0 ? static_cast<size_t>(n) : 0);
  number.erase(number.find_last_not_of('\n') + 1);
  const bool is_number = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? cat("process ", number) : "another process";
}

}  // namespace

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
}

Result<FolderLock> FolderLock::take(const std::string& folder) {
  FolderLock lock;
  const std::string name = cat(folder, folder.ends_with('/') ? "" : "/", ".lock");
  lock.file_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock.file_ < 0) return invalid_argument(cat("cannot write in '", printable(folder), "': ", std::strerror(errno)));
  if (::flock(lock.file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return failed_precondition(cat("'", folder, "' is in use by ", owner_of(lock.file_)));
    return lock;
  }
  // For the message of the other one only; on a full disk it names nobody.
  if (::ftruncate(lock.file_, 0) == 0) static_cast<void>(write_all(lock.file_, cat(::getpid(), "\n")));
  return lock;
}

}  // namespace emplace
