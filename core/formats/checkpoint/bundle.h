/// TensorBundle: a checkpoint of TensorFlow: tensors by key. Version 2 (PREFIX.index and PREFIX.data-00000-of-00001)
/// and version 1 (one file).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/formats/checkpoint/tensor_slice.h"
#include "core/graph/source.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// "PREFIX.data-00000-of-00001".
std::string data_file_name(const std::string& prefix, size_t shard, size_t shards);

class TensorBundle {
 public:
  /// `name`: PREFIX, PREFIX.index, a file of version 1, or a folder whose file `checkpoint` names one. Nothing if there
  /// is no such checkpoint; an error if it is damaged.
  static Result<std::optional<TensorBundle>> find(const std::string& name);

  struct Entry {
    DType dtype = DType::kInvalid;
    Shape shape;
    int32_t shard = 0;
    int64_t offset = 0, size = 0;
    uint32_t crc = 0;
    std::vector<TensorSlice> slices;  // of a tensor in parts: those that there are
    std::string message;              // of version 1: the TensorProto
  };
  /// By key, sorted.
  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

  /// The whole tensor, its checksum checked. Where memory can hold the file's bytes as they are, they stay there.
  /// NotFound; DATA_LOSS: "variables.data-00000-of-00001: tensor 'v' is damaged (checksum)".
  Result<Tensor> read(std::string_view key);
  /// A part of it.
  Result<Tensor> read(std::string_view key, const TensorSlice& slice);
  /// The same for who copies the bytes to where they stay: of a tensor that is lent by its file (MappedBuffer), the
  /// elements may lie at any address. The checksum of a whole tensor is made on all threads of `parallel`.
  Result<Tensor> lend(std::string_view key, const TensorSlice& slice, Parallel& parallel);
  /// lend() for who looks at a few rows: the checksum, for which all bytes would have to be read, is not looked at.
  Result<Tensor> map(std::string_view key, const TensorSlice& slice);

  const std::string& prefix() const { return prefix_; }
  /// The data files, and their names. None of version 1.
  int32_t num_shards() const { return num_shards_; }
  std::string shard_name(int32_t number) const;

 private:
  Status read_index(const std::string& index);
  Status read_version_1(const Source& file);
  Status add_header(std::string_view value);
  Status add_entry(std::string_view key, std::string_view value);
  struct How {
    bool checked = true;           // is its checksum looked at?
    bool anywhere = false;         // may its elements stay where no processor would have them?
    Parallel* parallel = nullptr;  // makes the checksum
  };
  Result<Tensor> read_entry(std::string_view key, const Entry& entry, const How& how);
  Result<Tensor> assemble(std::string_view key, const Entry& entry);
  Result<std::shared_ptr<const Source>> shard(int32_t number);

  std::string prefix_;
  int32_t num_shards_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::pair<std::string, TensorSlice>, Entry> parts_;
  std::map<int32_t, std::shared_ptr<const Source>> shards_;
};

}  // namespace emplace
