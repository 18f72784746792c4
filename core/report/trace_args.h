/// What a trace says of a slice beside its times: the members of its `args`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/json_writer.h"
#include "core/partition/copy_kind.h"
#include "core/report/trace_facts.h"
#include "core/run/launch_trace.h"

namespace emplace {

/// Facts outlive it.
class TraceArgs {
 public:
  explicit TraceArgs(const TraceFacts& facts) : f_(facts), g_(*facts.graph) {}

  /// `"bytes": 16, "op": "MatMul", "shapes": "[2,2]", "reason": "requested"`; of what ran as one, a list of each for
  /// its nodes. Worded once for each work, whose slices are many.
  const std::string& of(const LaunchedWork& work);

 private:
  std::string words(const LaunchedWork& work) const;
  void write_node(JsonWriter& json, NodeId node) const;
  void write_nodes(JsonWriter& json, const LaunchedWork& work) const;
  void write_copy(JsonWriter& json, const LaunchedWork& work) const;
  std::string shapes_of(NodeId node) const;
  std::string_view reason_of(NodeId node) const;
  std::optional<double> predicted_us(const LaunchedWork& work) const;
  CopyKind kind_of(const LaunchedWork& copy) const;

  const TraceFacts& f_;
  const Graph& g_;
  std::unordered_map<const LaunchedWork*, std::string> words_;
};

}  // namespace emplace
