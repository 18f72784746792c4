#include "core/base/file_error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/base/cat.h"
#include "core/base/suggest.h"

namespace emplace {

std::string unreadable_text(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return cat("cannot read '", path, "': ", std::strerror(EISDIR));
  errno = 0;
  std::ifstream in(path);
  return cat("cannot read '", path, "': ", !in && errno != 0 ? std::strerror(errno) : "the file is empty");
}

std::string near_file(const std::string& path) {
  constexpr size_t kMost = 4096;  // a folder with more is not searched to its end
  namespace fs = std::filesystem;
  const fs::path wanted(path);
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end && names.size() < kMost;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::string name = wanted.filename().string();
  Suggestion near(name);
  for (const std::string& n : names) near.offer(n);
  if (near.best().empty()) return {};
  return cat("did you mean '", (wanted.has_parent_path() ? folder / near.best() : fs::path(near.best())).string(),
             "'?");
}

}  // namespace emplace
