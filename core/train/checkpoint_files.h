/// The two files of a checkpoint: their names, what the .json says, and reading them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/train/checkpoint.h"

namespace emplace {

/// The variables' file: what the .json promises of it, so that a pair of two runs is not a checkpoint.
struct VariablesFile {
  std::string name;
  int64_t bytes = 0;
  std::string crc32;  // 8 hexadecimal digits; empty: not known
};

/// A checkpoint of which only the .json was read.
struct CheckpointHead {
  Checkpoint checkpoint;  // without variables
  VariablesFile variables;
  std::string path;  // of the .json
};

/// "step-00000120".
std::string checkpoint_name(int64_t step);
/// The step of "step-00000120.json", with this ending; nothing for other names.
std::optional<int64_t> checkpoint_step(std::string_view file_name, std::string_view ending);
std::string crc32_text(uint32_t crc);
std::string checkpoint_json(const Checkpoint& checkpoint, const VariablesFile& variables);

/// FailedPrecondition: another version of emplace wrote it.
Result<CheckpointHead> read_checkpoint_head(const std::string& json);
/// InvalidArgument or NotFound if the variables' file is not the one that was written.
Status check_variables(const CheckpointHead& head);
/// With the variables, whose file is checked.
Result<Checkpoint> read_checkpoint(CheckpointHead head);
/// Of a folder, the newest first: those of the run with the highest number, and of these that of the highest step.
/// `damaged` gets a line for each that cannot be read.
std::vector<CheckpointHead> list_checkpoints(const std::string& folder, std::vector<std::string>& damaged);

}  // namespace emplace
