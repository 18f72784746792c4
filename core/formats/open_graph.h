/// Finds out what kind of graph file a path names, and opens it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/formats/proto_source.h"

namespace emplace {

/// The file behind `path` ("-": standard input), as a ProtoSource if it holds a protobuf message; else it is JSON. The
/// kind is told by content, then by the file's name; `wanted` overrides both. Of a folder: its SavedModel, of which
/// `tags` choose the graph. InvalidArgument for files that hold no graph, with what to do.
Result<std::shared_ptr<const Source>> open_graph(const std::string& path, std::optional<GraphFormat> wanted,
                                                 const std::vector<std::string>& tags = {});

}  // namespace emplace
