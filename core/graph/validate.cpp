// validate(): the second stage. Types first, then values and shapes, of the graph and of every function's body.
#include "core/base/cat.h"
#include "core/graph/graph_file.h"
#include "core/graph/shape_pass.h"
#include "core/graph/type_pass.h"
#include "core/graph/variable_types.h"

namespace emplace {
namespace {

// Does the value of a constant have the type that the constant says?
bool value_fits(const NodeType& type) {
  const AttrValue* dtype = type.view().find("dtype");
  const AttrValue* value = type.view().find("value");
  const DType* says = dtype ? dtype->get_if<DType>() : nullptr;
  const Tensor* tensor = value ? value->get_if<Tensor>() : nullptr;
  return !says || !tensor || tensor->dtype() == *says;
}

void check_constants(const Graph& graph, Problems& problems) {
  std::vector<bool> fits;
  for (const NodeType& type : graph.types()) fits.push_back(value_fits(type));
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (graph.node(id).type >= fits.size() || fits[graph.node(id).type]) continue;
    const Attrs attrs = graph.attrs(id);
    problems.add(graph.node(id).position,
                 cat("node '", graph.name(id), "' (", graph.op(id), "): attr 'dtype' says ", dtype_name(attrs.type("dtype")),
                     ", the value is ", dtype_name(attrs.tensor("value").dtype())),
                 "leave 'dtype' out, or give the value the same dtype");
  }
}

void validate_graph(const GraphFile& file, Graph& graph, Problems& problems, Problems& contradictions) {
  TypePass(file, graph, problems).run();
  check_constants(graph, contradictions);
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
