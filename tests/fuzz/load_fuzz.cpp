// Graph files of any bytes: load() ends in a graph whose parts fit together, or in problems that can be printed.
#include <cstdint>
#include <cstdlib>
#include <string>

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
    for (const Endpoint& e : g.controls(id)) require(e.node < id);
    for (const auto& [name, value] : g.written_attrs(id)) require(!name.empty() || value != nullptr);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto source = std::make_shared<ExactSource>(data, size);
  Problems problems;
  LoadOptions options;
  options.max_fill_bytes = 1 << 20;
  auto file = load(source, options, problems);
  if (!problems.empty()) {
    require(!problems.to_string(*source).empty());
    return 0;
  }
  check(file->graph);
  for (const auto& [name, function] : file->library) check(*function.body);
  return 0;
}
