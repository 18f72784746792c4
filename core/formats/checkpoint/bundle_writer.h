/// Checkpoints of TensorFlow's version 2 (PREFIX.index and PREFIX.data-00000-of-00001), written and merged.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/formats/checkpoint/bundle.h"
#include "core/formats/checkpoint/tensor_to_save.h"

namespace emplace {

/// The data first, then the index, each under its name when it is whole. InvalidArgument: a key stands twice, or a part
/// does not fit its tensor.
Status write_bundle(const std::string& prefix, std::span<const TensorToSave> tensors);

/// The tensors of all `prefixes` under one name; their data files are renamed, their indexes removed. A key that two of
/// them have is InvalidArgument, unless it is a tensor's in parts. `missing_ok`: a prefix may have no files.
Status merge_bundles(std::span<const std::string> prefixes, const std::string& to, bool missing_ok);

}  // namespace emplace
