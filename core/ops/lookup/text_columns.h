/// Columns of a text file as vectors, as a table is filled with them. Errors in TensorFlow's words
/// (core/kernels/lookup_util.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace emplace {

struct TextColumn {
  static constexpr int64_t kLineNumber = -1, kWholeLine = -2;
  int64_t index = 0;  // of the column, or one of these
  DType type = DType::kInvalid;
  int64_t offset = 0;     // is added to a line's number
  std::string_view role;  // for messages: "key"
};

/// `lines`: how many are read, -1: all. `file` is the file's name, for messages.
Result<std::vector<Tensor>> read_columns(const std::string& file, std::string_view text,
                                         std::span<const TextColumn> columns, char delimiter, int64_t lines);

}  // namespace emplace
