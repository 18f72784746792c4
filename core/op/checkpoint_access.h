/// CheckpointAccess: how nodes read and write checkpoints (RestoreV2, SaveV2), and read the files of a model's assets.
/// File format, and which files a graph may touch, are decided by the implementation
/// (core/formats/checkpoint/graph_checkpoints.h).
#pragma once

#include <span>
#include <string>

#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// A tensor to be saved. `part` is as in SaveV2: "" for the whole, or "5 3 0,3:-": the sizes of the whole, then where
/// the part begins and how long it is, or all of that dimension.
struct CheckpointPart {
  std::string key, part;
  Tensor value;
};

/// Thread-safe. A name that a graph may not touch is PermissionDenied.
class CheckpointAccess {
 public:
  virtual ~CheckpointAccess() = default;

  /// The tensor `key` of the checkpoint `prefix`, or a part of it, for who copies it: where a file lends the
  /// bytes (MappedBuffer), the elements may lie at any address. NotFound, DataLoss.
  virtual Result<Tensor> read(const std::string& prefix, const std::string& key, const std::string& part,
                              Parallel& parallel) = 0;
  virtual Status write(const std::string& prefix, std::span<const CheckpointPart> tensors) = 0;
  /// As one file, of version 1.
  virtual Status write_file(const std::string& name, std::span<const CheckpointPart> tensors) = 0;
  /// Several checkpoints become one. `remove_folders`: those of `prefixes`, if nothing else is in them.
  virtual Status merge(std::span<const std::string> prefixes, const std::string& to, bool remove_folders,
                       bool missing_ok) = 0;
  /// All of a file that is no checkpoint. NotFound.
  virtual Result<std::string> read_file(const std::string& name) = 0;

  /// The graph's own folder, as names that begin with it do; relative names are of it.
  virtual const std::string& folder() const = 0;
};

}  // namespace emplace
