#include "core/formats/checkpoint/graph_checkpoints.h"

#include <filesystem>

#include "core/base/cat.h"
#include "core/base/input_file.h"
#include "core/formats/checkpoint/saver.h"
#include "core/formats/checkpoint/version_1_writer.h"
#include "core/formats/file_access.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

/// "5 3 0,3:-": the sizes before the last blank.
std::optional<Shape> whole_shape(std::string_view part) {
  Shape shape;
  for (std::string_view rest = part.substr(0, part.rfind(' ')); !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    int64_t size = 0;
    for (char c : word) {
      if (c < '0' || c > '9' || size > INT64_MAX / 16) return std::nullopt;
      size = size * 10 + (c - '0');
    }
    if (word.empty() || shape.rank() == 254) return std::nullopt;
    shape.add_dim(size);
  }
  return shape;
}

Status bad_part(std::string_view key, std::string_view part) {
  return invalid_argument(
      cat("tensor '", key, "': '", part, "' is not a part of a tensor; write for instance '5 3 0,3:-'"));
}

Result<TensorToSave> tensor_to_save(const CheckpointPart& part) {
  TensorToSave t{part.key, part.value, part.value.shape(), {}};
  if (part.part.empty()) return t;
  const std::optional<Shape> whole = whole_shape(part.part);
  std::optional<TensorSlice> slice = parse_slice(part.part);
  const Status wrong = bad_part(part.key, part.part);
  if (!whole || !slice || static_cast<int>(slice->start.size()) != whole->rank()) return wrong;
  for (size_t d = 0; d < slice->length.size(); ++d) {
    if (slice->length[d] < 0) slice->length[d] = whole->dim(static_cast<int>(d));
  }
  t.whole = *whole;
  t.slice = std::move(*slice);
  return t;
}

}  // namespace

GraphFolders graph_folders(const Source& graph, const LoadOptions& options) {
  std::string own = fs::path(graph.name()).parent_path().string();
  if (own.empty()) own = ".";
  std::vector<std::string> allowed{own};
  allowed.insert(allowed.end(), options.allowed_paths.begin(), options.allowed_paths.end());
  return {own, own, std::move(allowed), "lies outside the graph file's folder; allow its folder: --allow-path DIR"};
}

GraphFolders graph_folders_of_server(std::string own, std::string place, std::vector<std::string> roots) {
  return {std::move(own), std::move(place), std::move(roots),
          "lies where no graph may touch files on this task; allow its folder: emplace serve --data-root DIR, or "
          "--allow-path DIR of the command that starts its own tasks"};
}

std::string GraphCheckpoints::in_folder(const std::string& name) const {
  const bool is_whole = name.starts_with(folders_.own + "/");
  return is_whole ? folders_.place + name.substr(folders_.own.size()) : (fs::path(folders_.place) / name).string();
}

Status GraphCheckpoints::check_files(std::string_view what, const std::string& name, const std::string& place) const {
  if (lies_in_one_of(place, folders_.allowed)) return ok_status();
  return Status(Code::kPermissionDenied, cat(what, " '", name, "' ", folders_.refusal)).blamed(Blame::kFile);
}

Result<std::string> GraphCheckpoints::place_of(const std::string& prefix) const {
  if (prefix.empty() || prefix.find('\0') != std::string::npos)
    return invalid_argument("a checkpoint without a name, or with a NUL character in it").blamed(Blame::kFile);
  const std::string place = in_folder(prefix);
  for (const char* ending : {"", ".index", ".data-00000-of-00001"})
    RETURN_IF_ERROR(check_files("checkpoint", prefix, place + ending));
  return place;
}

Result<TensorBundle*> GraphCheckpoints::open(const std::string& prefix) {
  if (open_ && open_prefix_ == prefix) return &*open_;
  ASSIGN_OR_RETURN(const std::string place, place_of(prefix));
  ASSIGN_OR_RETURN(open_, TensorBundle::find(place));
  if (!open_)
    return not_found(cat("Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ", prefix));
  for (int32_t i = 0; i < open_->num_shards(); ++i)
    RETURN_IF_ERROR(check_files("checkpoint", prefix, open_->shard_name(i)));
  open_prefix_ = prefix;
  return &*open_;
}

Result<Tensor> GraphCheckpoints::read(const std::string& prefix, const std::string& key, const std::string& part,
                                      Parallel& parallel) {
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(TensorBundle * bundle, open(prefix));
  if (!bundle->entries().contains(key)) return not_found(cat("Key ", key, " not found in checkpoint"));
  const std::optional<TensorSlice> slice = parse_slice(part);
  if (!slice) return bad_part(key, part);
  return bundle->lend(key, *slice, parallel);
}

Result<std::string> GraphCheckpoints::read_file(const std::string& name) {
  if (name.find('\0') != std::string::npos)
    return invalid_argument("a file name with a NUL character").blamed(Blame::kFile);
  const std::string place = in_folder(name);
  RETURN_IF_ERROR(check_files("file", name, place));
  std::error_code error;
  if (!fs::exists(place, error)) return not_found(cat(name, "; No such file or directory"));
  ASSIGN_OR_RETURN(const std::shared_ptr<const InputFile> file, InputFile::open(place, {.pipes = false, .kept = true}));
  return std::string(file->bytes());
}

Status GraphCheckpoints::write(const std::string& prefix, std::span<const CheckpointPart> tensors) {
  return write_with(write_bundle, prefix, tensors);
}

Status GraphCheckpoints::write_file(const std::string& name, std::span<const CheckpointPart> tensors) {
  return write_with(write_version_1, name, tensors);
}

Status GraphCheckpoints::write_with(Writer writer, const std::string& name, std::span<const CheckpointPart> tensors) {
  std::lock_guard lock(mutex_);
  open_.reset();
  ASSIGN_OR_RETURN(const std::string place, place_of(name));
  std::vector<TensorToSave> list;
  for (const CheckpointPart& part : tensors) {
    ASSIGN_OR_RETURN(TensorToSave t, tensor_to_save(part));
    list.push_back(std::move(t));
  }
  std::error_code error;
  fs::create_directories(fs::path(place).parent_path(), error);
  return writer(place, list).blamed(Blame::kWrite);
}

Status GraphCheckpoints::merge(std::span<const std::string> prefixes, const std::string& to, bool remove_folders,
                               bool missing_ok) {
  std::lock_guard lock(mutex_);
  open_.reset();
  ASSIGN_OR_RETURN(const std::string target, place_of(to));
  std::vector<std::string> places;
  for (const std::string& prefix : prefixes) {
    ASSIGN_OR_RETURN(std::string place, place_of(prefix));
    places.push_back(std::move(place));
  }
  RETURN_IF_ERROR(merge_bundles(places, target, missing_ok).blamed(Blame::kWrite));
  std::error_code ignored;
  for (const std::string& place : places) {
    const fs::path folder = fs::path(place).parent_path();
    if (remove_folders && folder != fs::path(target).parent_path()) fs::remove(folder, ignored);  // if it is empty
  }
  return ok_status();
}

}  // namespace emplace
