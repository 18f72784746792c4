/// What `convert` does beyond changing the form of a file: the part of a graph that a signature or some fetches need,
/// its functions inlined, its variables with their values.
#pragma once

#include <string>
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
  std::string graph;  // GraphDef
  std::string key;    // of the signature
  Signature signature;
  std::vector<ModelVariable> variables;  // with_values: all that are left
  std::vector<std::string> outputs;      // tensors
  std::vector<std::string> left_over;    // freeze: what stayed a variable, with the reason
};

/// `graph`: the file that the context names. Its options say which part (signature, fetch) and whether functions are
/// inlined; values come from --restore, a SavedModel's checkpoint or the initializers, as in a run.
Result<ConvertedModel> convert_model(StageContext& context, const GraphMessage& graph, const ModelChange& change);

}  // namespace emplace
