/// `config` (ConfigProto) of a graph file.
#pragma once

#include "core/formats/load_context.h"

namespace emplace {

/// Takes the next value into GraphFile::config. Options of TensorFlow that emplace has no use for are read over.
void read_config(LoadContext& c);

}  // namespace emplace
