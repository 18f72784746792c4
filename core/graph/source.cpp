#include "core/graph/source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/cat.h"
#include "core/base/stop.h"

namespace emplace {
namespace {

// Below this a copy is cheaper than a mapping.
constexpr size_t kMapFrom = 256 * 1024;

class OwnedText final : public Source {
 public:
  OwnedText(std::string name, std::string text) : owned_(std::move(text)) {
    name_ = std::move(name);
    text_ = owned_;
  }

 private:
  std::string owned_;
};

class MappedText final : public Source {
 public:
  MappedText(std::string name, void* data, size_t size) : data_(data), size_(size) {
    name_ = std::move(name);
    text_ = {static_cast<const char*>(data), size};
  }
  ~MappedText() override { ::munmap(data_, size_); }

 private:
  void* data_;
  size_t size_;
};

struct File {
  int fd = -1;
  ~File() {
    if (fd > 0) ::close(fd);
  }
};

Status system_error(const std::string& what, int error) {
  std::string text = cat(what, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return not_found(std::move(text));
  if (error == EACCES || error == EPERM) return {Code::kPermissionDenied, std::move(text)};
  return invalid_argument(std::move(text));
}

Result<std::string> read_all(int fd, size_t size_hint, const std::string& name) {
  std::string text;
  size_t used = 0;
  for (;;) {
    RETURN_IF_ERROR(stop_status());
    if (used == text.size()) text.resize(std::max({size_hint + 1, used * 2, size_t{65536}}));
    ssize_t n = ::read(fd, text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;  // a signal, perhaps
    if (n < 0) return system_error(name, errno);
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  text.resize(used);
  return text;
}

bool begins_as_json(int fd) {
  char head[256];
  const ssize_t n = ::pread(fd, head, sizeof head, 0);
  const std::string_view text(head, n > 0 ? static_cast<size_t>(n) : 0);
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && (text[first] == '{' || text[first] == '/');
}

}  // namespace

Result<std::shared_ptr<const Source>> Source::open(const std::string& path) {
  File file;
  std::string name = path == "-" ? "<stdin>" : path;
  file.fd = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.fd < 0) return system_error(path, errno);
  struct stat info = {};
  if (::fstat(file.fd, &info) != 0) return system_error(name, errno);
  if (S_ISDIR(info.st_mode)) return system_error(name, EISDIR);
  size_t size = S_ISREG(info.st_mode) ? static_cast<size_t>(info.st_size) : 0;
  if (size >= kMapFrom && path != "-") {
    // A text is read from end to end; of a binary file, the weights that a run asks for.
    const int populate = begins_as_json(file.fd) ? MAP_POPULATE : 0;
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | populate, file.fd, 0);
    if (data != MAP_FAILED)
      return std::shared_ptr<const Source>(std::make_shared<MappedText>(std::move(name), data, size));
  }
  ASSIGN_OR_RETURN(std::string text, read_all(file.fd, size, name));
  return from_text(std::move(name), std::move(text));
}

std::shared_ptr<const Source> Source::from_text(std::string name, std::string text) {
  return std::make_shared<OwnedText>(std::move(name), std::move(text));
}

Source::LineColumn Source::locate(size_t offset) const {
  offset = std::min(offset, text_.size());
  std::string_view before = text_.substr(0, offset);
  size_t start = before.rfind('\n');
  start = start == std::string_view::npos ? 0 : start + 1;
  std::string_view line = text_.substr(start, text_.find('\n', offset) - start);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return {1 + std::count(before.begin(), before.end(), '\n'), 1 + static_cast<int64_t>(offset - start), line};
}

std::string Source::where(size_t offset) const {
  if (binary()) {
    const std::string around = context(offset);
    return cat(name_, ": byte ", offset, around.empty() ? "" : ", ", around);
  }
  const LineColumn at = locate(offset);
  return cat(name_, ":", at.line, ":", at.column);
}

}  // namespace emplace
