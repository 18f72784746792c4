#include "core/base/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>

#include "core/base/cat.h"
#include "core/base/mapped_names.h"
#include "core/base/printable.h"
#include "core/base/stop.h"
#include "core/base/units.h"

namespace emplace {
namespace {

// Below this a copy is cheaper than a mapping.
constexpr size_t kMapFrom = 256 * 1024;
constexpr int kPatienceMs = 100;  // between two looks at whether to stop

class CopiedFile final : public InputFile {
 public:
  CopiedFile(std::string text, HostShare share) : text_(std::move(text)), share_(std::move(share)) { bytes_ = text_; }

 private:
  std::string text_;
  HostShare share_;
};

class MappedFile final : public InputFile {
 public:
  MappedFile(void* data, size_t size, bool writable, HostShare share, std::string name)
      : mapping_{data, size}, name_(data, size, std::move(name)), share_(std::move(share)) {
    bytes_ = {static_cast<const char*>(data), size};
    lendable_ = writable;
  }
  void forget(size_t begin, size_t end) const override {
    const size_t first = (begin + 4095) & ~size_t{4095}, last = std::min(end, mapping_.size) & ~size_t{4095};
    if (first < last) ::madvise(static_cast<char*>(mapping_.data) + first, last - first, MADV_DONTNEED);
  }

 private:
  struct Mapping {
    void* data;
    size_t size;
    ~Mapping() { ::munmap(data, size); }
  };

  Mapping mapping_;
  MappedName name_;  // gone before the mapping
  HostShare share_;
};

/// The files that were opened as kept, by device and inode. Any thread may ask.
class KeptFiles {
 public:
  void add(const struct stat& info) {
    std::lock_guard lock(mutex_);
    files_.emplace(info.st_dev, info.st_ino);
  }
  bool contains(const struct stat& info) {
    std::lock_guard lock(mutex_);
    return files_.contains({info.st_dev, info.st_ino});
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<dev_t, ino_t>> files_;
};

KeptFiles& kept_files() {
  static KeptFiles files;
  return files;
}

struct OpenFile {
  int fd = -1;
  bool own = true;
  ~OpenFile() {
    if (own && fd >= 0) ::close(fd);
  }
};

Status system_error(const std::string& what, int error) {
  std::string text = cat(what, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return not_found(std::move(text));
  if (error == EACCES || error == EPERM) return {Code::kPermissionDenied, std::move(text)};
  return invalid_argument(std::move(text));
}

/// Is that a file to read to its end? Standard input may be a socket, as some programs start others.
Status check_kind(const std::string& name, const struct stat& info, bool pipes, bool standard) {
  const auto refused = [&](std::string_view kind) {
    return invalid_argument(cat(name, " is a ", kind, "; wanted a file", pipes ? " or a pipe" : ""));
  };
  if (S_ISDIR(info.st_mode)) return system_error(name, EISDIR);
  if (S_ISSOCK(info.st_mode) && !standard) return refused("socket");
  if (S_ISBLK(info.st_mode)) return refused("device");
  if (S_ISFIFO(info.st_mode) && !pipes) return refused("pipe");
  if (S_ISCHR(info.st_mode)) {
    constexpr unsigned kMemoryDevices = 1, kNull = 3, kFirstTerminal = 4, kLastTerminal = 5, kFirstPty = 136,
                       kLastPty = 143;
    const unsigned group = major(info.st_rdev);
    const bool ends = (group == kMemoryDevices && minor(info.st_rdev) == kNull) ||
                      (group >= kFirstTerminal && group <= kLastTerminal) || (group >= kFirstPty && group <= kLastPty);
    if (!ends || !pipes) return refused("device");
  }
  return ok_status();
}

bool begins_as_json(int fd) {
  char head[256];
  const ssize_t n = ::pread(fd, head, sizeof head, 0);
  const std::string_view text(head, n > 0 ? static_cast<size_t>(n) : 0);
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && (text[first] == '{' || text[first] == '/');
}

/// Until there is something to read, or the other side is gone.
Status wait_for(int fd, const std::string& name) {
  for (;;) {
    RETURN_IF_ERROR(stop_status());
    pollfd one{fd, POLLIN, 0};
    const int ready = ::poll(&one, 1, kPatienceMs);
    if (ready > 0) return ok_status();
    if (ready < 0 && errno != EINTR) return system_error(name, errno);
  }
}

Result<std::shared_ptr<const InputFile>> read_to_end(int fd, size_t size_hint, bool waits, const std::string& name,
                                                     const InputOptions& o) {
  HostShare share(o.use);
  std::string text;
  size_t used = 0;
  for (;;) {
    RETURN_IF_ERROR(waits ? wait_for(fd, name) : stop_status());
    if (used == text.size()) {
      const size_t room = std::max({size_hint + 1, used * 2, size_t{65536}});
      if (Status status = share.resize(static_cast<int64_t>(room)); !status.ok()) return status.with_context(name);
      text.resize(room);
    }
    const ssize_t n = ::read(fd, text.data() + used, text.size() - used);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return system_error(name, errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
    if (static_cast<int64_t>(used) > o.most_bytes)
      return invalid_argument(cat(name, ": more than the ", size_text(o.most_bytes), " that such a file may have"));
  }
  text.resize(used);
  if (text.capacity() > 2 * used) text.shrink_to_fit();
  RETURN_IF_ERROR(share.resize(static_cast<int64_t>(used)));
  return std::shared_ptr<const InputFile>(std::make_shared<CopiedFile>(std::move(text), std::move(share)));
}

}  // namespace

namespace {

/// Null: whoever asks for standard input reads on.
std::shared_ptr<const InputFile>& kept_standard_input() {
  static std::shared_ptr<const InputFile> kept;
  return kept;
}

}  // namespace

bool is_kept_file(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && kept_files().contains(info);
}

bool is_kept_file(int descriptor) {
  struct stat info = {};
  return ::fstat(descriptor, &info) == 0 && kept_files().contains(info);
}

Result<std::shared_ptr<const InputFile>> InputFile::open(const std::string& path, const InputOptions& o) {
  const bool standard = path == "-";
  if (standard && kept_standard_input()) return kept_standard_input();
  const std::string name = standard ? "<stdin>" : printable(path);
  struct stat info = {};
  // Opening a device may already do something.
  if ((standard ? ::fstat(STDIN_FILENO, &info) : ::stat(path.c_str(), &info)) != 0) return system_error(name, errno);
  RETURN_IF_ERROR(check_kind(name, info, o.pipes, standard));
  if (o.kept) kept_files().add(info);
  OpenFile file{standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
                !standard};
  if (file.fd < 0) return system_error(name, errno);
  if (::fstat(file.fd, &info) != 0) return system_error(name, errno);
  RETURN_IF_ERROR(check_kind(name, info, o.pipes, standard));
  if (o.kept) kept_files().add(info);
  const bool regular = S_ISREG(info.st_mode);
  const size_t size = regular ? static_cast<size_t>(info.st_size) : 0;
  if (static_cast<int64_t>(size) > o.most_bytes)
    return invalid_argument(cat(name, ": more than the ", size_text(o.most_bytes), " that such a file may have"));
  if (size >= kMapFrom && !standard) {
    HostShare share(o.use);
    if (Status status = share.resize(o.count_mapped ? static_cast<int64_t>(size) : 0); !status.ok())
      return status.with_context(name);
    // A text is read from end to end; of a binary file, the weights that a run asks for, which may be written to.
    const bool at_once = o.count_mapped && begins_as_json(file.fd);
    void* data = ::mmap(nullptr, size, PROT_READ | (at_once ? 0 : PROT_WRITE),
                        MAP_PRIVATE | (at_once ? MAP_POPULATE : 0), file.fd, 0);
    if (data != MAP_FAILED)
      return std::shared_ptr<const InputFile>(
          std::make_shared<MappedFile>(data, size, !at_once, std::move(share), name));
  }
  return read_to_end(file.fd, size, !regular, name, o);
}

Status InputFile::keep_standard_input() {
  if (kept_standard_input()) return ok_status();
  ASSIGN_OR_RETURN(kept_standard_input(), open("-"));
  return ok_status();
}

}  // namespace emplace
