/// Attrs of nodes as lowering asks for them: what is not there, or of another kind, counts as not said.
#pragma once

#include <string_view>

#include "core/graph/graph.h"

namespace emplace {

/// Control flow that TensorFlow lowers has it.
inline constexpr std::string_view kLowerFlag = "_lower_using_switch_merge";

/// Is it there, and true?
inline bool flag_set(const NodeType& type, std::string_view name) {
  const AttrValue* value = type.view().find(name);
  const bool* flag = value ? value->get_if<bool>() : nullptr;
  return flag && *flag;
}

/// Null: no function is said.
inline const FuncValue* function_attr(const NodeType& type, std::string_view name) {
  const AttrValue* found = type.view().find(name);
  return found ? found->get_if<FuncValue>() : nullptr;
}

}  // namespace emplace
