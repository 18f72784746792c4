/// The nodes of a saver in TensorFlow's form (`save/Const`, `save/SaveV2`, `save/RestoreV2`, ...), and what the
/// messages around a graph say of them, of its variables and of its tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/formats/checkpoint/tensor_to_save.h"
#include "core/formats/proto/wire_writer.h"
#include "core/tensor/tensor.h"

namespace emplace {

struct ModelVariable {
  std::string node;  // of the graph
  Tensor value;
  bool trainable = true;
};

/// A table that is not filled otherwise before the first step.
struct ModelTable {
  std::string node;  // of the graph
  Tensor keys, values;
};

struct ModelContents {
  std::vector<ModelVariable> variables;
  std::vector<ModelTable> tables;
  bool empty() const { return variables.empty() && tables.empty(); }
};

/// What the checkpoint of the model holds, in the order of the saver's names.
std::vector<TensorToSave> tensors_of(const ModelContents& contents);

/// GraphDef with a saver of its contents in it.
struct GraphWithSaver {
  std::string bytes;
  std::string filename, save, restore;  // tensor, tensor, node: as a SaverDef has them
  std::vector<std::string> variables;   // VariableDefs: tables have none
  std::vector<std::string> trainable;   // those of them that may be trained
};

/// Without contents the graph stays as it is. REQUIRES: each variable and table is a node of the graph. Names that are
/// taken get another scope than `save`.
Result<GraphWithSaver> add_saver(std::string_view graph, const ModelContents& contents);

void write_saver(proto::WireWriter& writer, uint32_t field, const GraphWithSaver& graph);

}  // namespace emplace
