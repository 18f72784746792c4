/// TF.js graph models: what model.json says beside the topology, which is a GraphDef.
#pragma once

#include "core/formats/load_context.h"

namespace emplace {

/// Takes the next value, the model's signature: its outputs are what is fetched by default; its names of inputs
/// and outputs can be used where tensors are named.
void read_signature(LoadContext& c);

/// Takes the next value, the weights manifest, and reads the files it names: they hold the values of the graph's
/// Consts, whole or quantised, one after the other. REQUIRES: the graph is finished.
void read_weights_manifest(LoadContext& c);

/// Consts whose values no weight file brought are zeros.
void fill_missing_weights(LoadContext& c);

}  // namespace emplace
