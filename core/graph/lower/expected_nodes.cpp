#include "core/graph/lower/expected_nodes.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/op/trait_table.h"

namespace emplace {
namespace {

constexpr size_t kMost = size_t{1} << 19;
constexpr size_t kAround = 8;  // a lowered node and what stands for its control edges

class Growth {
 public:
  explicit Growth(const GraphFile& file) : file_(file) {}

  size_t of_graph(const Graph& graph) {
    // Nodes of one op with one set of attrs call the same functions.
    std::unordered_map<uint64_t, size_t> known;
    std::vector<char> functional(graph.num_texts());
    for (uint32_t op = 1; op < graph.num_texts(); ++op) functional[op] = may_call(graph.text(op));
    size_t nodes = graph.num_nodes();
    for (NodeId id = 0; id < graph.num_nodes() && nodes < kMost; ++id) {
      const Node& node = graph.node(id);
      if (!functional[node.op]) continue;
      auto [size, is_new] = known.try_emplace(uint64_t{node.op} << 32 | node.attr_set);
      if (is_new) size->second = of_calls(graph, id);
      nodes += size->second;
    }
    return std::min(nodes, kMost);
  }

 private:
  bool may_call(std::string_view op) const {
    return traits_of(op).functional != Functional::kNone || file_.library.contains(std::string(op));
  }

  size_t of_calls(const Graph& graph, NodeId id) {
    size_t nodes = kAround + of_function(std::string(graph.op(id)));
    for (const Attrs::Entry& attr : graph.written_attrs(id)) {
      if (const auto* one = attr.second->get_if<FuncValue>()) nodes += of_function(one->name);
      const auto* list = attr.second->get_if<std::vector<FuncValue>>();
      for (size_t i = 0; list && i < list->size(); ++i) nodes += of_function((*list)[i].name);
    }
    return nodes;
  }

  size_t of_function(const std::string& name) {
    const auto found = file_.library.find(name);
    if (found == file_.library.end() || !found->second.body) return 0;
    auto [size, is_new] = functions_.try_emplace(&found->second, 0);  // 0 for one that calls itself
    if (!is_new || depth_ >= kMaxDepth) return size->second;
    ++depth_;
    const size_t nodes = of_graph(*found->second.body);
    --depth_;
    return functions_[&found->second] = nodes;
  }

  static constexpr int kMaxDepth = 200;
  const GraphFile& file_;
  std::unordered_map<const Function*, size_t> functions_;
  int depth_ = 0;
};

}  // namespace

size_t expected_nodes(const GraphFile& file) {
  return file.library.empty() ? file.graph.num_nodes() : Growth(file).of_graph(file.graph);
}

}  // namespace emplace
