/// Bytes loaded as each kind of protobuf graph file: load() ends in a graph whose parts fit together, or in problems
/// that can be printed. What the fuzz targets of the binary and of the text form share.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/formats/meta_graph.h"
#include "core/graph/graph_file.h"
#include "tests/fuzz/exact_source.h"

namespace emplace {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline void check(const Graph& g) {
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    require(g.find(g.name(id)) == id);
    for (const Endpoint& e : g.inputs(id)) require(e.node < g.num_nodes());
  }
}

inline void load_as(const std::shared_ptr<const Source>& bytes, GraphFormat format, bool binary) {
  const auto source = std::make_shared<ProtoSource>(bytes, format, binary);
  Problems problems;
  LoadOptions options;
  options.max_fill_bytes = 1 << 20;
  auto file = load(source, options, problems);
  if (problems.empty()) {
    check(file->graph);
    if (auto meta = read_meta_graph(*source, problems)) require(describe(meta->signatures).size() < (1u << 30));
  }
  if (!problems.empty()) require(!problems.to_string(*source).empty());
}

inline void load_as_each_kind(const uint8_t* data, size_t size, bool binary) {
  const auto source = std::make_shared<ExactSource>(data, size);
  for (GraphFormat format : {GraphFormat::kGraphDef, GraphFormat::kMetaGraph, GraphFormat::kSavedModel})
    load_as(source, format, binary);
}

}  // namespace emplace
