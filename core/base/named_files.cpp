#include "core/base/named_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/cat.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

/// Device and inode; of a file that is not there yet, its folder's and its name. Empty: no regular file.
std::string identity(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0)
    return S_ISREG(info.st_mode) ? cat(static_cast<uint64_t>(info.st_dev), ":", static_cast<uint64_t>(info.st_ino))
                                 : std::string();
  const fs::path name(path);
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");
  if (::stat(folder.c_str(), &info) != 0) return {};
  return cat(static_cast<uint64_t>(info.st_dev), ":", static_cast<uint64_t>(info.st_ino), "/",
             name.filename().string());
}

/// As the system would say when the file is opened: told before anything is done.
Status check_name(const std::string& path, const std::string& option) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) return ok_status();
  int error = EISDIR;
  if (!S_ISDIR(info.st_mode)) {
    const fs::path folder = fs::path(path).parent_path();
    if (folder.empty() || fs::is_symlink(path)) return ok_status();
    error = ::stat(folder.c_str(), &info) != 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
  }
  if (error == 0) return ok_status();
  return invalid_argument(cat(option, ": cannot write '", printable(path), "': ", std::strerror(error)));
}

}  // namespace

void NamedFiles::reads(const std::string& path, const std::string& what) {
  if (path.empty() || path == "-") return;
  if (const std::string id = identity(path); !id.empty()) read_.emplace(id, what);
}

void NamedFiles::reads_checkpoints(const std::string& folder, const std::string& what) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("step-")) reads(it->path().string(), what);
  }
}

Status NamedFiles::writes(const std::string& path, const std::string& option) {
  if (path.empty()) return ok_status();
  RETURN_IF_ERROR(check_name(path, option));
  const std::string id = identity(path);
  if (id.empty()) return ok_status();
  for (const Written& other : written_) {  // which may be there by now
    if (other.option != option && identity(other.path) == id)
      return invalid_argument(
          cat(option, ": '", printable(path), "' is what ", other.option, " writes, too; name another file"));
  }
  written_.push_back({option, path});
  return clash();
}

Status NamedFiles::clash() const {
  for (const Written& written : written_) {
    if (is_kept_file(written.path))
      return invalid_argument(
          cat(written.option, ": '", printable(written.path), "' is what the graph reads; name another file"));
    if (auto reader = read_.find(identity(written.path)); reader != read_.end())
      return invalid_argument(cat(written.option, ": '", printable(written.path), "' is what ", reader->second,
                                  " reads; name another file"));
  }
  return ok_status();
}

}  // namespace emplace
