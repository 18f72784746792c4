/// What `check` says of a MetaGraph or SavedModel beside its graph: tags, signatures, variables, assets.
#pragma once

#include <string>
#include <vector>

#include "core/base/json_writer.h"
#include "core/formats/checkpoint/bundle.h"
#include "core/formats/meta_graph.h"
#include "core/graph/graph_file.h"

namespace emplace {

struct ModelFacts {
  MetaGraph meta;
  std::string kind;  // "savedmodel"
  struct Variable {
    std::string name;  // of its node, or its key where no node has it
    DType dtype = DType::kInvalid;
    Shape shape;
    int64_t bytes = 0;
    bool trainable = true;
  };
  std::vector<Variable> variables;  // of the SavedModel's checkpoint, by name
};

/// Nothing for a file that is neither. DATA_LOSS and the like: the variables cannot be read.
Result<std::optional<ModelFacts>> model_facts(const GraphFile& file, Problems& problems);

/// A line for each.
std::string model_text(const ModelFacts& facts);
/// Members "kind", "tags", "signatures", "variables", "assets".
void write_model(JsonWriter& json, const ModelFacts& facts);

}  // namespace emplace
