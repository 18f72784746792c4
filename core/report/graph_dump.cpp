#include "core/report/graph_dump.h"

#include "core/base/cat.h"

namespace emplace {

std::string dump_typed_graph(const Graph& graph) {
  std::string out;
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    auto types = graph.type(id).output_types;
    if (types.empty()) append(out, graph.name(id), "\n");
    for (uint32_t slot = 0; slot < types.size(); ++slot) {
      append(out, graph.name(id), ":", slot, " ", dtype_name(types[slot]), is_ref(types[slot]) ? "_ref " : " ",
             graph.output_shape({id, slot}).to_string(), "\n");
    }
  }
  return out;
}

}  // namespace emplace
