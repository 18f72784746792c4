// validate(): the second stage. Types first, then shapes, of the graph and of every function's body.
#include "core/graph/graph_file.h"
#include "core/graph/shape_pass.h"
#include "core/graph/type_pass.h"

namespace emplace {
namespace {

void validate_graph(const GraphFile& file, Graph& graph, Problems& problems) {
  TypePass(file, graph, problems).run();
  ShapePass(graph, problems).run();
}

}  // namespace

void validate(GraphFile& file, Problems& problems) {
  validate_graph(file, file.graph, problems);
  for (auto& [name, function] : file.library) {
    if (function.body) validate_graph(file, *function.body, problems);
  }
}

}  // namespace emplace
