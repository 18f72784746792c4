/// The nodes that hold state.
#pragma once

#include <string_view>

namespace emplace {

inline bool is_variable_op(std::string_view op) {
  return op == "VariableV2" || op == "Variable" || op == "VarHandleOp";
}

}  // namespace emplace
