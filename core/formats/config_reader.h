/// `config` (ConfigProto) and `cluster` (ClusterDef) of a graph file.
#pragma once

#include "core/formats/load_context.h"

namespace emplace {

/// Takes the next value into GraphFile::config. Options of TensorFlow that emplace has no use for are read over.
void read_config(LoadContext& c);
/// Takes the next value into GraphFile::cluster: {"job": [{"name", "tasks"}]} or {"worker": ["host:2222", ...]}.
void read_cluster(LoadContext& c);

}  // namespace emplace
