/// load() for models of ONNX: each node becomes a small block of TensorFlow's ops under its name.
#pragma once

#include <memory>

#include "core/formats/proto_source.h"
#include "core/graph/graph_file.h"

namespace emplace {

/// As load(). REQUIRES: the source's format is kOnnx.
std::unique_ptr<GraphFile> load_onnx(std::shared_ptr<const ProtoSource> source, const LoadOptions& options,
                                     Problems& problems);

}  // namespace emplace
