/// What `convert` does beyond changing the form of a file: the part of a graph that a signature or some fetches need,
/// its functions inlined, its variables with their values.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/convert.h"
#include "core/formats/saved_model_writer.h"
#include "core/pipeline_values.h"

namespace emplace {

struct ModelChange {
  bool freeze = false;       // variables become constants
  bool with_values = false;  // what the variables hold is needed, for a SavedModel
};

struct ConvertedModel {
  std::shared_ptr<const void> run;  // in whose memory the variables' values may lie: it ends after them
  std::string graph;                // GraphDef
  std::map<std::string, Signature> signatures;
  std::string main_op;                                      // with_values: what makes the model ready; empty: nothing
  std::vector<std::pair<std::string, std::string>> assets;  // with_values: tensor, file in the folder assets
  std::vector<AssetToWrite> new_assets;                     // with_values: those that only a graph's node named
  ModelContents contents;                                   // with_values: variables that are left, and tables
  std::vector<std::string> outputs;                         // tensors
  std::vector<std::string> left_over;                       // freeze: what is no constant, with the reason
};

/// `graph`: the file that the context names. Its options say which part (signature, fetch) and whether functions are
/// inlined; a model whose values are wanted keeps all of its signatures otherwise. Values come from --restore, a
/// SavedModel's checkpoint or the initializers, as in a run, and so does what tables hold that steps change.
/// With_values, those that are filled once are filled by the main op: a SavedModel's own, else one of the initializers
/// that do so. A table that neither fills is told as a problem of the file.
Result<ConvertedModel> convert_model(StageContext& context, const GraphMessage& graph, const ModelChange& change);

}  // namespace emplace
