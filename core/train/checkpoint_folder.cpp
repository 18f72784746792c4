#include "core/train/checkpoint_folder.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/base/cat.h"
#include "core/base/output_file.h"
#include "core/base/printable.h"
#include "core/base/text_file.h"
#include "core/formats/checkpoint/bundle_writer.h"
#include "core/graph/source.h"
#include "core/tensor/npy.h"
#include "core/train/checkpoint_files.h"
#include "core/train/checkpoint_tables.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

/// How the run that wrote `there` differs from this one; empty: it does not. Older checkpoints do not know their data.
std::string difference(const Checkpoint& there, const RunIdentity& run) {
  if (there.graph_sha256 != run.graph_sha256)
    return cat("of another graph ('", there.graph_file, "', or another version of it)");
  if (there.seed != run.seed) return cat("of a run with seed ", there.seed, " (this one has ", run.seed, ")");
  if (!there.data.empty() && !run.data.empty() && there.data != run.data) return "of a run on other data";
  return {};
}

/// What an interrupted process left. REQUIRES: the folder is locked.
void remove_leftovers(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (is_leftover_name(it->path().filename().string())) leftovers.push_back(it->path());
  }
  for (const fs::path& file : leftovers) fs::remove(file, error);
}

/// A file that may be anybody's gets another name.
void set_aside(const std::string& file) {
  std::error_code error;
  std::string to;
  for (int i = 1; to.empty() || fs::exists(to, error); ++i) to = cat(file, ".~", i, "~");
  fs::rename(file, to, error);
}

/// A .json that is no checkpoint's or whose variables are damaged, and variables that no whole .json speaks of: what a
/// person may still get out of them is not replaced.
void set_aside_what_is_not_whole(const std::string& json, std::initializer_list<std::string> variables) {
  std::error_code error;
  if (fs::exists(json, error)) {
    const Result<CheckpointHead> head = read_checkpoint_head(json);
    if (!head.ok() || !check_variables(*head).ok()) set_aside(json);
  }
  for (const std::string& file : variables) {
    if (fs::exists(file, error) && !fs::exists(json, error)) set_aside(file);
  }
}

/// The file `checkpoint` of a folder in which TensorFlow has saved names its own.
void set_foreign_state_aside(const std::string& state) {
  const Result<std::shared_ptr<const Source>> there = Source::open(state);
  if (there.ok() && !(*there)->text().starts_with("model_checkpoint_path: \"step-")) set_aside(state);
}

}  // namespace

Result<CheckpointFolder> CheckpointFolder::open(std::string path, int64_t keep, CheckpointFormat format) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return invalid_argument(cat("cannot make folder '", printable(path), "': ", error.message()));
  Result<FolderLock> lock = FolderLock::take(path);
  if (!lock.ok() && lock.status().code() == Code::kFailedPrecondition)
    return failed_precondition(cat(lock.status().message(), ": wait for its end, or name another folder"));
  if (!lock.ok()) return lock.take_status();
  remove_leftovers(path);
  return CheckpointFolder(std::move(path), keep, format, lock.take());
}

Status CheckpointFolder::check_versions() const {
  std::error_code error;
  std::string first;
  for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
    if (!checkpoint_step(it->path().filename().string(), ".json")) continue;
    const Status read = read_checkpoint_head(it->path().string()).take_status();
    if (read.code() == Code::kFailedPrecondition && (first.empty() || read.message() < first)) first = read.message();
  }
  if (first.empty()) return ok_status();
  first.erase(first.find_last_not_of('\n') + 1);
  return failed_precondition(cat(first, "\nhint: go on with the emplace that wrote it, name another folder, or give ",
                                 "--overwrite to begin anew; it keeps the file"));
}

std::optional<Checkpoint> CheckpointFolder::newest(std::vector<std::string>& damaged) const {
  for (CheckpointHead& head : list_checkpoints(path_, damaged)) {
    Result<Checkpoint> c = read_checkpoint(std::move(head));
    if (c.ok()) return c.take();
    damaged.push_back(c.status().message());
  }
  return std::nullopt;
}

Status CheckpointFolder::refuse(const Checkpoint& there, int64_t newest_step, const RunIdentity& run,
                                const Checkpoint* restored) const {
  const std::string differs = difference(there, run);
  if (!differs.empty()) {
    return failed_precondition(cat("'", printable(path_), "' holds checkpoints ", differs,
                                   ": name another folder, or give --overwrite to replace them"));
  }
  const std::string latest = cat("--restore latest goes on from step ", newest_step, ", ");
  if (!restored) {
    return failed_precondition(cat("'", printable(path_), "' holds checkpoints of this run: ", latest,
                                   "--overwrite begins anew and replaces them; or name another folder"));
  }
  return failed_precondition(cat("'", printable(path_), "' holds newer checkpoints than that of step ", restored->step,
                                 " which --restore names: ", latest,
                                 "--overwrite replaces them; or name another folder"));
}

Status CheckpointFolder::claim(const RunIdentity& run, const Checkpoint* restored, bool overwrite) {
  std::vector<std::string> damaged;  // newest() tells them
  const std::vector<CheckpointHead> there = list_checkpoints(path_, damaged);
  if (!there.empty()) run_number_ = there.front().checkpoint.run_number;
  for (const CheckpointHead& head : there) {
    const Checkpoint& c = head.checkpoint;
    // An --overwrite that was interrupted has left it; the run that did so is this one.
    if (!overwrite && restored && c.run_number < run_number_) continue;
    if (restored && c.step <= restored->step && difference(c, run).empty()) {
      if (c.run_number == run_number_) own_.push_back(c.step);
      continue;
    }
    if (!check_variables(head).ok()) continue;  // passed over, too, by whoever wants the newest
    if (!overwrite) return refuse(c, there.front().checkpoint.step, run, restored);
    others_.push_back(c.step);
  }
  if (!others_.empty()) {
    ++run_number_;  // "latest" is this run's from its first save on
    own_.clear();
  }
  return ok_status();
}

std::string CheckpointFolder::file(int64_t step, std::string_view ending) const {
  return (fs::path(path_) / cat(checkpoint_name(step), ending)).string();
}

Result<std::string> CheckpointFolder::save(Checkpoint checkpoint) {
  checkpoint.run_number = run_number_;
  Result<std::string> saved = format_ == CheckpointFormat::kBundle ? save_bundle(checkpoint) : save_arrays(checkpoint);
  if (saved.ok()) remove_old(checkpoint.step);
  return saved;
}

/// Data, index, .json: each is whole and on the disk before the next gets its name. The last is the file `checkpoint`,
/// by which TensorFlow finds the newest.
Result<std::string> CheckpointFolder::save_bundle(const Checkpoint& checkpoint) {
  const std::string prefix = file(checkpoint.step, ""), index = prefix + ".index", json = prefix + ".json";
  std::vector<TensorToSave> tensors;
  for (const auto& [name, value] : checkpoint.variables) tensors.push_back({name, value, value.shape(), {}});
  set_aside_what_is_not_whole(json, {index, data_file_name(prefix, 0, 1)});
  RETURN_IF_ERROR(write_bundle(prefix, tensors));
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> written, Source::open(index));
  const std::string_view text = written->text();
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
  const VariablesFile variables{fs::path(index).filename().string(), static_cast<int64_t>(text.size()),
                                crc32_text(static_cast<uint32_t>(crc))};
  RETURN_IF_ERROR(write_text_file(json, checkpoint_json(checkpoint, variables)));
  const std::string state = (fs::path(path_) / "checkpoint").string();
  set_foreign_state_aside(state);
  RETURN_IF_ERROR(write_text_file(state, cat("model_checkpoint_path: \"", checkpoint_name(checkpoint.step), "\"\n")));
  return index;
}

namespace {

/// NumPy's arrays of texts fill up with zero bytes.
Status check_texts_for_arrays(const NamedValues& values) {
  for (const auto& [name, value] : values) {
    if (value.dtype() != DType::kString) continue;
    for (const std::string& text : value.flat<std::string>()) {
      if (!text.ends_with('\0')) continue;
      return invalid_argument(cat("'", printable(name),
                                  "' holds a text that ends with a zero byte, which an .npz does ",
                                  "not keep: give --checkpoint-format bundle"));
    }
  }
  return ok_status();
}

}  // namespace

/// Both files are whole and on the disk before the first of them gets its name.
Result<std::string> CheckpointFolder::save_arrays(const Checkpoint& checkpoint) {
  RETURN_IF_ERROR(check_texts_for_arrays(checkpoint.variables));
  const std::string npz = file(checkpoint.step, ".npz"), json = file(checkpoint.step, ".json");
  ASSIGN_OR_RETURN(OutputFile arrays, OutputFile::open(npz));
  VariablesFile variables;
  variables.name = fs::path(npz).filename().string();
  uLong crc = 0;
  const ByteSink sink = [&](std::string_view bytes) {
    variables.bytes += static_cast<int64_t>(bytes.size());
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    return arrays.write(bytes);
  };
  RETURN_IF_ERROR(npz_to(sink, checkpoint.variables));
  variables.crc32 = crc32_text(static_cast<uint32_t>(crc));
  ASSIGN_OR_RETURN(OutputFile head, OutputFile::open(json));
  RETURN_IF_ERROR(head.write(checkpoint_json(checkpoint, variables)));
  RETURN_IF_ERROR(arrays.settle());
  RETURN_IF_ERROR(head.settle());
  set_aside_what_is_not_whole(json, {npz});
  RETURN_IF_ERROR(arrays.commit());
  RETURN_IF_ERROR(head.commit());
  return npz;
}

/// The .json first: variables alone are not a checkpoint.
void CheckpointFolder::remove_old(int64_t step) {
  std::vector<int64_t> old;
  for (int64_t other : others_) {
    if (other != step) old.push_back(other);
  }
  others_.clear();
  std::erase(own_, step);
  own_.push_back(step);
  std::sort(own_.begin(), own_.end(), std::greater<>());
  if (const auto most = static_cast<size_t>(keep_); keep_ > 0 && own_.size() > most) {
    old.insert(old.end(), own_.begin() + static_cast<std::ptrdiff_t>(most), own_.end());
    own_.resize(most);
  }
  std::sort(old.begin(), old.end(), std::greater<>());  // the newest first: what is left of a run is its beginning
  std::error_code ignored;
  for (int64_t s : old) {
    for (const char* ending : {".json", ".npz", ".index"}) fs::remove(file(s, ending), ignored);
    fs::remove(data_file_name(file(s, ""), 0, 1), ignored);
  }
}

}  // namespace emplace
