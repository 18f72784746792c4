#include "core/base/file_error.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"

namespace emplace {

Status unreadable(const std::string& path, const Status& why) {
  const std::string named = printable(path) + ": ";
  if (!why.message().starts_with(named)) return why;
  return {why.code(),
          cat("cannot read '", printable(path), "': ", std::string_view(why.message()).substr(named.size()))};
}

Status empty_file(const std::string& path) {
  return not_found(cat("cannot read '", printable(path), "': the file is empty"));
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
  const fs::path best = wanted.has_parent_path() ? folder / near.best() : fs::path(near.best());
  return cat("did you mean '", printable(best.string()), "'?");
}

}  // namespace emplace
