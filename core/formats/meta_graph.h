/// MetaGraph: what a MetaGraphDef says beside its graph: signatures, the saver, collections, assets. Of a SavedModel,
/// the one that --tags chooses.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/shape.h"
#include "core/formats/object_graph.h"
#include "core/formats/proto_source.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// A tensor of the graph, as a signature has it.
struct TensorInfo {
  std::string name;  // "x:0"
  DType dtype = DType::kInvalid;
  Shape shape = Shape::unknown();
};

/// Inputs and outputs of the graph by the names that callers know them by.
struct Signature {
  std::string method;
  std::map<std::string, TensorInfo> inputs, outputs;
  std::map<std::string, Tensor> defaults;  // of inputs
};

/// A variable of the collection `variables`.
struct VariableInfo {
  std::string variable, initializer;  // nodes
  bool trainable = false;
};

struct MetaGraph {
  std::vector<std::string> tags;
  std::map<std::string, Signature> signatures;  // those that can be run
  std::string main_op;                          // the node that runs once all variables are restored; empty: none
  std::string restore_op, saver_filename;       // of the saver: a node and a tensor
  std::vector<std::pair<std::string, std::string>> assets;  // tensor, name of a file in assets/
  std::vector<VariableInfo> variables;                      // of TensorFlow 1
  ObjectGraph objects;                                      // of TensorFlow 2
  std::vector<std::string> table_initializers;              // nodes, of TensorFlow 1
  std::vector<std::string> train_op, losses;                // nodes or tensors
  std::string folder;                                       // of a SavedModel; empty: of none
};

/// Nothing if the file holds a graph alone. REQUIRES: main_graph() found no problem in it. What is wrong with a
/// signature (a default that is no tensor) is told.
std::optional<MetaGraph> read_meta_graph(const Source& file, Problems& problems);

/// "x float32 [?,3], y int64 []": for messages.
std::string describe(const std::map<std::string, TensorInfo>& tensors);
/// "encode (x float32 [?,3] -> code float32)".
std::string describe(const std::string& key, const Signature& signature);
/// "encode (x float32 [?,3] -> code float32), decode (...)".
std::string describe(const std::map<std::string, Signature>& signatures);

}  // namespace emplace
