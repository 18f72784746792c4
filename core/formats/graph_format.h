/// The kinds of graph files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace emplace {

enum class GraphFormat : uint8_t { kJson, kGraphDef, kMetaGraph, kSavedModel, kOnnx };

/// "json", "graphdef", "metagraph", "savedmodel", "onnx".
std::optional<GraphFormat> parse_graph_format(std::string_view name);
std::string_view graph_format_name(GraphFormat format);

}  // namespace emplace
