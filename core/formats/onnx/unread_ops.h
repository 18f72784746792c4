/// Which ops of a model of ONNX cannot be translated, counted: for `ops --missing`, which wants all of them, of files
/// that cannot be loaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/graph/source.h"

namespace emplace {

struct UnreadOnnxOp {
  std::string domain;  // empty: ai.onnx
  std::string op;
  int64_t opset = 0;  // the version of the domain that the model names
  int64_t nodes = 0;
};

/// Ops of the graph, of graphs inside nodes and of the functions that they call; a function's nodes count once. By
/// domain, op and version. Empty: all ops are read, or `source` is no model of ONNX whose bytes are sound.
std::vector<UnreadOnnxOp> unread_onnx_ops(const std::shared_ptr<const Source>& source);

}  // namespace emplace
