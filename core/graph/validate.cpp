// Part of core/graph/graph_file.h: validate(): the second stage. Types first, then values and shapes, of the graph and
// of every function's body.
#include "core/graph/graph_file.h"
#include "core/graph/shape_pass.h"
#include "core/graph/type_pass.h"
#include "core/graph/variable_types.h"

namespace emplace {
namespace {

void validate_graph(GraphFile& file, Graph& graph, Problems& problems, Problems& contradictions) {
  TypePass types(file, graph, problems, file.warnings);
  types.run();
  types.check_colocation();
  ShapePass(graph, contradictions).run();
}

}  // namespace

void validate(GraphFile& file, Problems& problems, Problems* contradictions) {
  Problems& of_values = contradictions ? *contradictions : problems;
  settle_variable_types(file);
  validate_graph(file, file.graph, problems, of_values);
  for (auto& [name, function] : file.library) {
    if (function.body) validate_graph(file, *function.body, problems, of_values);
  }
}

}  // namespace emplace
