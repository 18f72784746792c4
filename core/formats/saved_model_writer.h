/// Writing SavedModels: one MetaGraph tagged `serve`, its signatures, the contents of variables and tables in a
/// checkpoint of version 2, the nodes of a saver by which TensorFlow's loaders restore them
/// (tensorflow/python/training/saver.py, version 2), assets.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/formats/meta_graph.h"
#include "core/formats/saver_nodes.h"

namespace emplace {

/// A file of the folder `assets` that is made anew.
struct AssetToWrite {
  std::string tensor;  // gets its name
  std::string file, content;
};

struct ModelToWrite {
  std::string_view graph;  // GraphDef
  std::map<std::string, Signature> signatures;
  ModelContents contents;
  std::string main_op;  // a node that makes the model ready; empty: nothing has to
  /// Tensors that get the names of files, and these files' names in the folder `assets` of the folder `from`.
  std::vector<std::pair<std::string, std::string>> assets;
  std::string from;
  std::vector<AssetToWrite> new_assets;  // of other names
};

/// The folder is made under another name and renamed when it is whole; `replace`: one of that name goes.
/// InvalidArgument: there can be no such folder; Unavailable: the disk is full or the like; ResourceExhausted: the
/// graph is too large for protobuf.
Status write_saved_model(const std::string& folder, const ModelToWrite& model, bool replace);

}  // namespace emplace
