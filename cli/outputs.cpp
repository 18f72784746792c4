#include "cli/outputs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/cat.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

/// A file for each output; a name's slashes become dots, so that no name leads out of the folder.
Status save_folder(const std::string& folder, const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return invalid_argument(cat("--save: cannot make folder '", folder, "': ", error.message()));
  std::set<std::string> used;
  for (size_t i = 0; i < fetches.size(); ++i) {
    std::string file = fetches[i].name;
    std::replace(file.begin(), file.end(), '/', '.');
    if (!used.insert(file).second) return invalid_argument(cat("--save: two outputs would be '", file, ".npy'; save to a .npz file"));
    RETURN_IF_ERROR(write_npy((std::filesystem::path(folder) / (file + ".npy")).string(), outputs[i]));
  }
  return ok_status();
}

Status save(const std::string& target, const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs) {
  if (target.ends_with(".npz")) {
    std::vector<std::pair<std::string, Tensor>> arrays;
    for (size_t i = 0; i < fetches.size(); ++i) arrays.emplace_back(fetches[i].name, outputs[i]);
    return write_npz(target, arrays);
  }
  if (!target.ends_with(".npy")) return save_folder(target, fetches, outputs);
  if (outputs.size() == 1) return write_npy(target, outputs[0]);
  return invalid_argument(cat("--save: '", target, "' holds one array, there are ", outputs.size(), "; save to a .npz file or a folder"));
}

}  // namespace

Status save_outputs(const std::vector<std::string>& targets, const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs) {
  for (const std::string& target : targets) RETURN_IF_ERROR(save(target, fetches, outputs));
  return ok_status();
}

}  // namespace emplace
