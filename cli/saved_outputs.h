/// SavedOutputs: the files of --save, begun before the first step.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/named_files.h"
#include "core/base/output_file.h"
#include "core/run_request.h"
#include "core/tensor/tensor.h"

namespace emplace {

class SavedOutputs {
 public:
  /// Each of `targets` is a file of one kind, or a folder, which is made. `label`: what a file's name in a folder
  /// begins with, where several graphs save to it. `files` must outlive it. InvalidArgument: there can be no such file.
  static Result<SavedOutputs> open(const std::vector<std::string>& targets, std::string label, NamedFiles& files);

  /// FILE.npz takes all outputs by name, FILE.npy the one output, a folder a .npy each. On an error none is there.
  Status write(const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs);

 private:
  using Arrays = std::vector<std::pair<std::string, Tensor>>;
  Status write_file(OutputFile& file, const Arrays& arrays);
  Status write_folder(const std::string& folder, const Arrays& arrays);

  std::string label_;
  NamedFiles* files_ = nullptr;
  std::vector<OutputFile> open_;
  std::vector<std::string> folders_;
};

/// What names the graphs apart in the files of a folder: their files' names without ending, with their folders where
/// two have one name. Empty for a single graph.
std::vector<std::string> graph_labels(const std::vector<std::string>& paths);

}  // namespace emplace
