/// The nodes of a saver in TensorFlow's form (`save/Const`, `save/SaveV2`, `save/RestoreV2`, ...), and what the
/// messages around a graph say of them and of its variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/formats/proto/wire_writer.h"
#include "core/tensor/tensor.h"

namespace emplace {

struct ModelVariable {
  std::string node;  // of the graph
  Tensor value;
  bool trainable = true;
};

/// GraphDef with a saver of `variables` in it.
struct GraphWithSaver {
  std::string bytes;
  std::string filename, save, restore;  // tensor, tensor, node: as a SaverDef has them
  std::vector<std::string> variables;   // VariableDefs
  std::vector<std::string> trainable;   // those of them that may be trained
};

/// Without variables the graph stays as it is. REQUIRES: each of `variables` is a node of the graph. Names that are
/// taken get another scope than `save`.
Result<GraphWithSaver> add_saver(std::string_view graph, const std::vector<ModelVariable>& variables);

void write_saver(proto::WireWriter& writer, uint32_t field, const GraphWithSaver& graph);

}  // namespace emplace
