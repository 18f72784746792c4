#include "core/graph/colocation.h"

#include "core/base/cat.h"

namespace emplace {

std::vector<std::string> colocation_groups(const Graph& graph, NodeId node) {
  std::vector<std::string> groups;
  const AttrValue* written = Attrs(graph.written_attrs(node)).find("_class");
  if (const auto* names = written ? written->get_if<std::vector<std::string>>() : nullptr) {
    for (const std::string& name : *names) {
      if (std::string_view(name).starts_with(kColocationPrefix)) groups.push_back(name);
    }
  }
  if (groups.empty()) groups.push_back(cat(kColocationPrefix, graph.name(node)));
  return groups;
}

}  // namespace emplace
