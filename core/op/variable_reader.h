/// Handles of variables: the ops that give one out, those that read what is behind it, and those that do the same with
/// a tensor.
#pragma once

#include <string_view>

#include "core/op/op_table.h"

namespace emplace {

/// Is the first output a handle, not a reference or a value?
bool gives_handle(OpTable& ops, std::string_view op);

struct VariableReader {
  std::string_view of_handle, of_tensor;
  std::string_view params;  // the attr of the second that has the tensor's type
  bool axis = false;        // the second has one more input, which the first says by its attr batch_dims
};

/// Null: the op is none of these.
const VariableReader* variable_reader(std::string_view op);

}  // namespace emplace
