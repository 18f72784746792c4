#include "core/formats/file_access.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/cat.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

// Is `path` below `folder`? Both are real paths.
bool lies_in(const fs::path& path, const fs::path& folder) {
  auto at = path.begin();
  for (const fs::path& part : folder) {
    if (part.empty()) continue;
    if (at == path.end() || *at != part) return false;
    ++at;
  }
  return true;
}

fs::path own_folder(const Source& source) {
  fs::path file(source.name());
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace

bool lies_in_one_of(const std::string& path, std::span<const std::string> folders) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  if (error) return false;
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    const fs::path allowed = fs::canonical(folder, error);
    return !error && lies_in(real, allowed);
  });
}

std::optional<std::string> allowed_file(const Source& source, const LoadOptions& options, Problems& problems, size_t at,
                                        std::string_view name) {
  auto position = static_cast<int64_t>(at);
  if (name.find('\0') != std::string_view::npos) {
    problems.add(position, "a file name with a NUL character");
    return std::nullopt;
  }
  std::vector<fs::path> folders{own_folder(source)};
  folders.insert(folders.end(), options.allowed_paths.begin(), options.allowed_paths.end());
  bool exists = false;
  std::error_code error;
  for (const fs::path& start : folders) {
    fs::path path = fs::canonical(start / fs::path(name), error);
    if (error) continue;
    exists = true;
    for (const fs::path& folder : folders) {
      fs::path real = fs::canonical(folder, error);
      if (error || !lies_in(path, real)) continue;
      if (fs::is_regular_file(path, error)) return path.string();
      problems.add(position, cat("'", name, "' is ", fs::is_directory(path, error) ? "a folder" : "not a regular file"),
                   "a graph can name files only; a pipe or a device may never end");
      return std::nullopt;
    }
  }
  if (exists) {
    problems.add(position, cat("file '", name, "' lies outside the graph file's folder"), kAllowItsFolder,
                 Code::kPermissionDenied);
  } else {
    problems.add(position, cat("no file '", name, "'"), "names are relative to the graph file's folder",
                 Code::kNotFound);
  }
  return std::nullopt;
}

Status check_saved_variables(const Source& model, const std::string& folder, const LoadOptions& options) {
  std::error_code error;
  std::vector<std::string> folders{folder};
  folders.insert(folders.end(), options.allowed_paths.begin(), options.allowed_paths.end());
  folders.push_back(fs::canonical(model.name(), error).parent_path().string());
  std::string outside;  // the first by name
  for (fs::directory_iterator it(fs::path(folder) / "variables", error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("variables.") || lies_in_one_of(it->path().string(), folders)) continue;
    if (outside.empty() || name < outside) outside = name;
  }
  if (outside.empty()) return ok_status();
  return {Code::kPermissionDenied, cat("file 'variables/", outside, "' lies outside the SavedModel's folder")};
}

std::optional<Tensor> read_tensor_file(LoadContext& c, size_t at, std::string_view name, std::string_view key) {
  auto path = allowed_file(c, at, name);
  if (!path) return std::nullopt;
  bool archive = name.ends_with(".npz");
  if (archive && key.empty()) {
    c.reader.problem(at, cat("file '", name, "' holds several arrays"), "say which: \"key\": \"...\"");
    return std::nullopt;
  }
  constexpr InputOptions kOfGraph{.use = HostUse::kConstants, .pipes = false, .kept = true};
  Result<Tensor> value = archive ? read_npz(*path, std::string(key), kOfGraph) : read_npy(*path, kOfGraph);
  if (value.ok()) return value.take();
  // By the name that the graph file has for it.
  std::string message = value.status().message();
  if (message.starts_with(*path)) message.replace(0, path->size(), name);
  c.problems.add(static_cast<int64_t>(at), std::move(message), {}, value.status().code());
  return std::nullopt;
}

}  // namespace emplace
