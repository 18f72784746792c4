// Binary graph files of any bytes, as each of their kinds: load() ends in a graph whose parts fit together, or
// in problems that can be printed.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/formats/meta_graph.h"
#include "core/graph/graph_file.h"
#include "tests/fuzz/exact_source.h"

using namespace emplace;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Graph& g) {
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    require(g.find(g.name(id)) == id);
    for (const Endpoint& e : g.inputs(id)) require(e.node < g.num_nodes());
  }
}

void load_as(const std::shared_ptr<const Source>& bytes, GraphFormat format, bool binary) {
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto source = std::make_shared<ExactSource>(data, size);
  for (GraphFormat format : {GraphFormat::kGraphDef, GraphFormat::kMetaGraph, GraphFormat::kSavedModel})
    load_as(source, format, true);
  return 0;
}
