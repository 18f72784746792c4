#include "cli/saved_outputs.h"

#include <algorithm>
#include <filesystem>

#include "cli/files.h"
#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/tensor/npy.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

Status save_error(const Status& status) { return status.with_context("--save"); }

Status usage_error(std::string message) { return invalid_argument(std::move(message)).blamed(Blame::kUsage); }

std::string with_dots(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

/// Makes the folder, and begins a file in it to see that it is writable.
Status open_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return usage_error(cat("--save: cannot make folder '", printable(folder), "': ", error.message()));
  return save_error(OutputFile::open((fs::path(folder) / "outputs.npy").string()).take_status());
}

}  // namespace

Result<SavedOutputs> SavedOutputs::open(const std::vector<std::string>& targets, std::string label, NamedFiles& files) {
  SavedOutputs out;
  out.label_ = std::move(label);
  out.files_ = &files;
  for (const std::string& target : targets) {
    if (saves_to_folder(target)) {
      RETURN_IF_ERROR(open_folder(target));
      out.folders_.push_back(target);
      continue;
    }
    Result<OutputFile> file = OutputFile::open(target);
    if (!file.ok()) return save_error(file.status());
    out.open_.push_back(file.take());
  }
  return out;
}

Status SavedOutputs::write_file(OutputFile& file, const Arrays& arrays) {
  const ByteSink sink = [&file](std::string_view bytes) { return file.write(bytes); };
  if (file.path().ends_with(".npz")) return save_error(npz_to(sink, arrays));
  if (arrays.size() == 1) return save_error(npy_to(sink, arrays[0].second));
  return usage_error(cat("--save: '", printable(file.path()), "' holds one array, there are ", arrays.size(),
                         "; save to a .npz file or a folder"));
}

/// A file for each array; a name's slashes become dots, so that no name leads out of the folder.
Status SavedOutputs::write_folder(const std::string& folder, const Arrays& arrays) {
  std::set<std::string> used;
  for (const auto& [name, array] : arrays) {
    const std::string file = cat(label_, label_.empty() ? "" : ".", with_dots(printable(name)), ".npy");
    const std::string path = (fs::path(folder) / file).string();
    if (!used.insert(file).second)
      return usage_error(cat("--save: two outputs would be '", printable(file), "'; save to a .npz file"));
    RETURN_IF_ERROR(files_->writes(path, label_.empty() ? "--save" : cat("--save of '", printable(label_), "'"))
                        .blamed(Blame::kUsage));
    Result<OutputFile> opened = OutputFile::open(path);
    if (!opened.ok()) return save_error(opened.status());
    open_.push_back(opened.take());
    RETURN_IF_ERROR(write_file(open_.back(), {{name, array}}));
  }
  return ok_status();
}

Status SavedOutputs::write(const std::vector<Fetch>& fetches, const std::vector<Tensor>& outputs) {
  Arrays arrays;  // what is fetched twice by one name is one array
  std::set<std::string> names;
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (names.insert(fetches[i].name).second) arrays.emplace_back(fetches[i].name, outputs[i]);
  }
  for (OutputFile& file : open_) RETURN_IF_ERROR(write_file(file, arrays));
  for (const std::string& folder : folders_) RETURN_IF_ERROR(write_folder(folder, arrays));
  for (OutputFile& file : open_) RETURN_IF_ERROR(save_error(file.settle()));
  for (OutputFile& file : open_) RETURN_IF_ERROR(save_error(file.commit()));
  open_.clear();
  return ok_status();
}

std::vector<std::string> graph_labels(const std::vector<std::string>& paths) {
  std::vector<std::string> labels(paths.size());
  if (paths.size() < 2) return labels;
  const auto unique = [](const std::vector<std::string>& all, const std::string& label) {
    return std::count(all.begin(), all.end(), label) == 1;
  };
  for (size_t i = 0; i < paths.size(); ++i) labels[i] = paths[i] == "-" ? "stdin" : fs::path(paths[i]).stem().string();
  std::vector<std::string> longer = labels;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!unique(labels, labels[i]))
      longer[i] = with_dots(fs::path(paths[i]).replace_extension().lexically_normal().string());
  }
  labels = longer;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!unique(longer, longer[i])) labels[i] = cat(longer[i], ".", i + 1);
  }
  return labels;
}

}  // namespace emplace
