/// Files that a graph file names: only below its own folder and below the folders that the user allowed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/formats/load_context.h"
#include "core/tensor/tensor.h"

namespace emplace {

inline constexpr const char* kAllowItsFolder = "allow its folder: --allow-path DIR";  // the hint of what is refused

/// `name` relative to the folder of the graph file `source`, or else to one of the allowed folders; its real path.
/// Links are followed first, so none leads out. A problem at `at` if there is no such file or it may not be read.
std::optional<std::string> allowed_file(const Source& source, const LoadOptions& options, Problems& problems, size_t at,
                                        std::string_view name);
inline std::optional<std::string> allowed_file(LoadContext& c, size_t at, std::string_view name) {
  return allowed_file(c.source, c.options, c.problems, at, name);
}

/// Is the place of `path`, where links lead to, below one of these folders? There need be no such file yet.
bool lies_in_one_of(const std::string& path, std::span<const std::string> folders);

/// Do the files of the checkpoint in `folder`, that of the SavedModel `model`, lie in it or in an allowed folder, where
/// links lead to? Also beside the file that `model` itself leads to: where models are kept by hash (Hugging Face's
/// cache), each file of the folder is a link to one place. PermissionDenied names the first that does not.
Status check_saved_variables(const Source& model, const std::string& folder, const LoadOptions& options);

/// An array of a .npy file, or of a .npz file with its key.
std::optional<Tensor> read_tensor_file(LoadContext& c, size_t at, std::string_view name, std::string_view key);

}  // namespace emplace
