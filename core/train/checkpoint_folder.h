/// CheckpointFolder: where one run saves. Nothing is deleted or replaced there that the run did not write, unless it
/// was told to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/folder_lock.h"
#include "core/train/checkpoint.h"

namespace emplace {

/// What makes two runs the same: one can go on where the other stopped, with the same bytes as one that never did.
struct RunIdentity {
  std::string graph_sha256;
  uint64_t seed = 0;
  std::string data;  // data_fingerprint()
};

/// What the variables of a checkpoint are written as.
enum class CheckpointFormat : uint8_t {
  kNpz,     // NumPy's arrays
  kBundle,  // TensorFlow's, version 2: what tf.train.load_checkpoint() reads
};

class CheckpointFolder {
 public:
  /// Makes the folder and locks it. FailedPrecondition: another process trains into it. Keeps the `keep` highest steps
  /// of the run that claims it (0: all).
  static Result<CheckpointFolder> open(std::string path, int64_t keep,
                                       CheckpointFormat format = CheckpointFormat::kNpz);

  /// FailedPrecondition, with what to do: a checkpoint of another version of emplace is there, which is not damaged.
  Status check_versions() const;

  /// The newest whole one; nothing if there is none. `damaged` gets a line for each that had to be passed over.
  std::optional<Checkpoint> newest(std::vector<std::string>& damaged) const;

  /// This run will save here, going on from `restored` (null: from the beginning). FailedPrecondition, with what to do,
  /// if the folder holds another run's checkpoints, or newer ones: `overwrite` lets them go, once this run has saved.
  Status claim(const RunIdentity& run, const Checkpoint* restored, bool overwrite);

  /// Returns the path of the .npz or the .index. On an error the older ones are as they were. REQUIRES: claim().
  Result<std::string> save(Checkpoint checkpoint);

 private:
  CheckpointFolder(std::string path, int64_t keep, CheckpointFormat format, FolderLock lock)
      : path_(std::move(path)), keep_(keep), format_(format), lock_(std::move(lock)) {}
  Result<std::string> save_arrays(const Checkpoint& checkpoint);
  Result<std::string> save_bundle(const Checkpoint& checkpoint);
  std::string file(int64_t step, std::string_view ending) const;
  Status refuse(const Checkpoint& there, int64_t newest_step, const RunIdentity& run, const Checkpoint* restored) const;
  void remove_old(int64_t step);

  std::string path_;
  int64_t keep_;
  CheckpointFormat format_;
  FolderLock lock_;
  int64_t run_number_ = 1;
  std::vector<int64_t> own_;     // steps of this run that are there
  std::vector<int64_t> others_;  // steps that go with the first save
};

}  // namespace emplace
