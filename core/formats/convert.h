/// Graph files of one format as another: everything becomes a GraphDef in binary form, and that is written.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/formats/proto/json_reader.h"
#include "core/graph/graph_file.h"

namespace emplace {

/// A GraphDef, and what a graph file says beside it.
struct GraphMessage {
  std::string bytes;
  /// emplace's own keys, such as `fetch`, in JSON.
  std::vector<std::pair<std::string, std::string>> own_keys;
};

/// The graph of any file that open_graph() opens. What people write in short form is spelled out as nodes, which is why
/// such a file must be sound: its problems otherwise.
GraphMessage read_graph_message(std::shared_ptr<const Source> source, const LoadOptions& options, Problems& problems);

/// What changes on the way.
struct ConvertOptions {
  bool strip = false;  // attrs that begin with '_', but `_class`
  /// The device of every node: of those that are in it.
  std::map<std::string, std::string, std::less<>> devices;
};
std::string changed_graph(std::string_view graph, const ConvertOptions& options, proto::WireError& error);

enum class WeightFiles : uint8_t { kInline, kBeside, kAuto };

struct GraphText {
  std::string text;
  int64_t unknown_fields = 0;                           // which are lost
  std::vector<std::pair<std::string, Tensor>> weights;  // for a file beside it: key, value
};
GraphText write_graph_binary(const GraphMessage& graph, proto::WireError& error);
GraphText write_graph_text(const GraphMessage& graph, proto::WireError& error);
/// `weights_file`: the name of the file beside, which the text names.
GraphText write_graph_json(const GraphMessage& graph, WeightFiles weights, const std::string& weights_file,
                           proto::WireError& error);

}  // namespace emplace
