#include "core/base/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "core/base/cat.h"
#include "core/base/descriptor.h"
#include "core/base/heap_limit.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/base/stop.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLeftoverPrefix = ".emplace-";

std::string folder_of(const std::string& path) {
  auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string name_in_folder(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Where symbolic links lead, also to a file that is not there yet.
std::string behind_links(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the system has it
  fs::path at(path);
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(at, error); ++i) {
    fs::path to = fs::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return at.string();
}

/// "/dev/stdout" may lead to a regular file, whose name would then stand for another one than the shell's.
bool names_descriptor(const std::string& path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

std::string leftover_name() {
  static std::atomic<int> count{0};
  return cat(kLeftoverPrefix, ::getpid(), "-", count++, kPartEnding);
}

/// Without it, what has no name can get none.
bool sees_descriptors() { return ::access("/proc/self/fd", X_OK) == 0; }

void sync_folder(int folder) {
  int file = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);  // not every file system can; the rename has happened
  ::close(file);
}

bool same_file(int file, int folder, const std::string& name) {
  struct stat opened = {}, named = {};
  return ::fstat(file, &opened) == 0 && ::fstatat(folder, name.c_str(), &named, 0) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Not if this process has searched the folder before: of many files there, each would look at all.
bool is_first_in(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::pair<dev_t, ino_t>> searched;
  struct stat info = {};
  if (::stat(folder.c_str(), &info) != 0) return false;
  const std::lock_guard lock(mutex);
  return searched.emplace(info.st_dev, info.st_ino).second;
}

/// What a killed process left in the folder: nobody has it locked. A folder with very many files is not searched.
void clear_leftovers(const std::string& folder) {
  constexpr int kMost = 4096;
  int seen = 0;
  const HeapLimit no_limit = HeapLimit::none();  // the iterator is noexcept within
  if (!is_first_in(folder)) return;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && seen < kMost;
       at.increment(error), ++seen) {
    const std::string name = at->path().filename();
    if (!is_leftover_name(name)) continue;
    const int file = ::open(at->path().c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) continue;
    struct stat info = {};
    if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && ::flock(file, LOCK_EX | LOCK_NB) == 0)
      ::unlink(at->path().c_str());
    ::close(file);
  }
}

}  // namespace

bool is_leftover_name(std::string_view file_name) {
  return file_name.starts_with(kLeftoverPrefix) && file_name.ends_with(kPartEnding);
}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  path_ = std::move(other.path_);
  target_ = std::move(other.target_);
  part_ = std::move(other.part_);
  folder_ = std::exchange(other.folder_, -1);
  file_ = std::exchange(other.file_, -1);
  in_place_ = other.in_place_;
  settled_ = other.settled_;
  is_empty_ = other.is_empty_;
  error_ = other.error_;
  return *this;
}

/// Of what was open.
Status OutputFile::failure(int error) const {
  if (error == EINTR && stop_requested()) return stop_status();  // a pipe that nobody reads
  return unavailable(cat("cannot write '", printable(path_), "': ", std::strerror(error))).blamed(Blame::kWrite);
}

Status OutputFile::refusal(int error) const {
  if (error == EINTR && stop_requested()) return stop_status();
  if (error == EWOULDBLOCK)
    return failed_precondition(cat("cannot write '", printable(path_), "': another process is writing it"))
        .blamed(Blame::kUsage);
  if (error == ENOSPC || error == EDQUOT || error == EIO) return failure(error);
  return invalid_argument(failure(error).message()).blamed(Blame::kUsage);
}

Result<OutputFile> OutputFile::open(std::string path, Growth growth) {
  OutputFile out;
  out.path_ = std::move(path);
  out.target_ = behind_links(out.path_);
  struct stat there = {};
  const bool exists = ::stat(out.path_.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) return out.refusal(errno);
  if (out.path_.empty() || (exists && S_ISDIR(there.st_mode))) return out.refusal(exists ? EISDIR : ENOENT);
  if (exists && is_kept_file(out.path_))
    return invalid_argument(cat("'", printable(out.path_), "' is what the graph reads; name another file"))
        .blamed(Blame::kUsage);
  out.in_place_ = exists && (!S_ISREG(there.st_mode) || names_descriptor(out.path_));
  if (exists && !out.in_place_ && ::access(out.path_.c_str(), W_OK) != 0) return out.refusal(errno);
  out.file_ = out.in_place_ ? open_to_append(out.path_) : out.open_aside(growth);
  if (out.file_ < 0) return out.refusal(errno);
  if (exists && !out.in_place_) ::fchmod(out.file_, there.st_mode & 07777);
  return out;
}

/// A descriptor, or -1 with errno.
int OutputFile::open_aside(Growth growth) {
  clear_leftovers(folder_of(target_));
  if (growth == Growth::kSeen) return enter_folder() ? take_part() : -1;
  int file = sees_descriptors() ? ::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666) : -1;
  if (file < 0) {
    if (!enter_folder()) return -1;
    part_ = leftover_name();
    file = ::openat(folder_, part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (file >= 0) ::flock(file, LOCK_EX | LOCK_NB);  // others leave it alone
  return file;
}

/// From here on what is written has a name, in this folder, wherever the folder is moved. False with errno.
bool OutputFile::enter_folder() {
  folder_ = ::open(folder_of(target_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  return folder_ >= 0;
}

/// NAME.part, locked. What another process left there is written over, what one is writing is not.
int OutputFile::take_part() {
  const std::string part = cat(name_in_folder(target_), kPartEnding);
  for (;;) {
    int file = ::openat(folder_, part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return -1;
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(file);
      errno = error;
      return -1;
    }
    if (!same_file(file, folder_, part)) {  // its writer has renamed it in between
      ::close(file);
      continue;
    }
    part_ = part;
    if (::ftruncate(file, 0) == 0) return file;
    ::close(file);
    return -1;
  }
}

Status OutputFile::write(std::string_view bytes) {
  is_empty_ = is_empty_ && bytes.empty();
  if (error_ == 0) error_ = write_all(file_, bytes);
  return error_ == 0 ? ok_status() : failure(error_);
}

/// 0 or an errno.
int OutputFile::give_name() {
  if (!part_.empty()) return 0;
  if (!enter_folder()) return errno;
  std::string name = leftover_name();
  const std::string self = cat("/proc/self/fd/", file_);
  if (::linkat(AT_FDCWD, self.c_str(), folder_, name.c_str(), AT_SYMLINK_FOLLOW) != 0) return errno;
  part_ = std::move(name);  // nothing is between the link and the one who removes it
  return 0;
}

int OutputFile::settle_or_error() {
  if (error_ != 0 || in_place_ || settled_) return error_;
  settled_ = true;
  return ::fsync(file_) != 0 ? errno : give_name();
}

Status OutputFile::settle() {
  error_ = settle_or_error();
  return error_ == 0 ? ok_status() : failure(error_);
}

Status OutputFile::commit() {
  int error = settle_or_error();
  const std::string name = name_in_folder(target_);
  if (error == 0 && !in_place_ && ::renameat(folder_, part_.c_str(), folder_, name.c_str()) != 0) error = errno;
  if (error != 0) {
    abandon();
    return failure(error);
  }
  part_.clear();
  const bool closed = ::close(std::exchange(file_, -1)) == 0;
  if (!in_place_) sync_folder(folder_);
  leave_folder();
  return closed ? ok_status() : failure(errno);
}

void OutputFile::abandon() {
  const bool is_open = file_ >= 0;
  if (is_open && !part_.empty()) ::unlinkat(folder_, part_.c_str(), 0);
  part_.clear();
  leave_folder();
  if (is_open) ::close(std::exchange(file_, -1));
}

void OutputFile::leave_folder() {
  if (folder_ >= 0) ::close(std::exchange(folder_, -1));
}

}  // namespace emplace
