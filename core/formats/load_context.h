/// LoadContext: what the readers of one graph file share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/json_reader.h"
#include "core/graph/graph_file.h"

namespace emplace {

struct LoadContext {
  const Source& source;
  const LoadOptions& options;
  Problems& problems;
  GraphFile& file;
  JsonReader& reader;
  /// Bytes that values may still take beyond what the file spells out (see LoadOptions::max_fill_bytes).
  int64_t fill_bytes_left = 0;
  /// In a TF.js model the values of constants stand in weight files, not in the topology.
  bool values_elsewhere = false;
  /// In the body of a library function.
  bool in_function = false;
  /// Reads the file's `op_def` and `library` signatures, wherever they stand. Called at most once, when a node names
  /// an op that the tables do not have.
  std::function<void()> read_declarations;
  /// The ops that `kernel_def` names.
  std::vector<NamedRef> kernel_ops{};

  /// Counts the heap that the graph takes by now. False where the limit of host memory does not allow it, or it is time
  /// to stop: then a problem says so, and the reader has failed.
  bool may_go_on();

  /// Of an op or of a function of the file's library; null if neither.
  const OpSignature* signature(std::string_view op);
  /// The output slot of "node:output:index"; nothing if the node's op has no such output. If nobody knows the op, the
  /// index itself.
  std::optional<uint32_t> output_slot(const Graph& g, NodeId node, std::string_view output, uint32_t index);
};

}  // namespace emplace
