#include "core/base/named_files.h"

#include <sys/stat.h>

#include <filesystem>

#include "core/base/cat.h"

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
  const std::string id = path.empty() ? std::string() : identity(path);
  if (id.empty()) return ok_status();
  for (const Written& other : written_) {  // which may be there by now
    if (other.option != option && identity(other.path) == id)
      return invalid_argument(cat(option, ": '", path, "' is what ", other.option, " writes, too; name another file"));
  }
  written_.push_back({option, path});
  return clash();
}

Status NamedFiles::clash() const {
  for (const Written& written : written_) {
    if (auto reader = read_.find(identity(written.path)); reader != read_.end())
      return invalid_argument(
          cat(written.option, ": '", written.path, "' is what ", reader->second, " reads; name another file"));
  }
  return ok_status();
}

}  // namespace emplace
