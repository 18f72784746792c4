/// Writing SavedModels: one MetaGraph tagged `serve`, one signature, the variables in a checkpoint of version 2, and
/// the nodes of a saver by which TensorFlow's loaders restore them (tensorflow/python/training/saver.py, version 2).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/formats/meta_graph.h"
#include "core/formats/saver_nodes.h"

namespace emplace {

struct ModelToWrite {
  std::string_view graph;  // GraphDef
  std::string key;         // of the signature
  Signature signature;
  std::vector<ModelVariable> variables;
};

/// The folder is made under another name and renamed when it is whole; `replace`: one of that name goes.
/// InvalidArgument: there can be no such folder; Unavailable: the disk is full or the like; ResourceExhausted: the
/// graph is too large for protobuf.
Status write_saved_model(const std::string& folder, const ModelToWrite& model, bool replace);

}  // namespace emplace
