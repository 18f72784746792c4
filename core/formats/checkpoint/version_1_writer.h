/// Checkpoints of TensorFlow's version 1: one file, a table of contents and a message for each tensor.
#pragma once

#include <span>
#include <string>

#include "core/base/status.h"
#include "core/formats/checkpoint/tensor_to_save.h"

namespace emplace {

/// Under its name when it is whole. InvalidArgument: a part does not fit its tensor, parts of one tensor have not one
/// type and shape, or version 1 has no such type.
Status write_version_1(const std::string& file, std::span<const TensorToSave> tensors);

}  // namespace emplace
