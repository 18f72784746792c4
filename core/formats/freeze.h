/// Freezing a GraphDef: variables become the constants that they hold.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace emplace {

struct Frozen {
  std::string bytes;
  int64_t variables = 0;               // that became constants
  std::vector<std::string> left_over;  // variables that did not, each with the reason: "v: 'assign' writes it"
};

/// A variable with a value that nothing writes becomes a Const under its name; what reads it through a handle
/// (ReadVariableOp, ResourceGather, ...) becomes the op that reads a tensor. A call that takes the handle keeps its
/// variable: inline the functions first.
Result<Frozen> freeze(std::string_view graph, const std::map<std::string, Tensor, std::less<>>& values);

}  // namespace emplace
