#include "core/formats/table_fillers.h"

#include <algorithm>
#include <optional>

#include "core/base/cat.h"
#include "core/formats/state_holders.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

/// A node that does nothing stands for those before it.
std::vector<NodeId> nodes_that_do_something(const Graph& g, std::vector<NodeId> nodes) {
  std::vector<NodeId> found;
  std::vector<char> seen(g.num_nodes());
  while (!nodes.empty()) {
    const NodeId id = nodes.back();
    nodes.pop_back();
    if (id == kNoNode || std::exchange(seen[id], 1)) continue;
    if (!traits_of(g.op(id)).does_nothing) {
      found.push_back(id);
      continue;
    }
    for (Endpoint control : g.controls(id)) nodes.push_back(control.node);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// May it run whenever the model is loaded?
bool may_run_again(const Graph& g, NodeId node) {
  std::vector<NodeId> nodes{node};
  std::vector<char> seen(g.num_nodes());
  while (!nodes.empty()) {
    const NodeId id = nodes.back();
    nodes.pop_back();
    if (id == kNoNode || std::exchange(seen[id], 1)) continue;
    const OpTraits& traits = traits_of(g.op(id));
    if (traits.assigns || traits.writes_variable || traits.placeholder) return false;
    for (Endpoint input : g.inputs(id)) nodes.push_back(input.node);
    for (Endpoint control : g.controls(id)) nodes.push_back(control.node);
  }
  return true;
}

const std::string* constant_text(const Graph& g, NodeId node) {
  if (node == kNoNode || !traits_of(g.op(node)).constant) return nullptr;
  const AttrValue* value = Attrs(g.written_attrs(node)).find("value");
  const Tensor* tensor = value ? value->get_if<Tensor>() : nullptr;
  return tensor && tensor->dtype() == DType::kString && tensor->num_elements() == 1 ? tensor->data<std::string>()
                                                                                    : nullptr;
}

/// Adds the files whose names the node gets; false: a name is not known.
bool add_files(const GraphFile& file, NodeId id, TableFillers& out) {
  const Graph& g = file.graph;
  const OpSignature* known = file.ops->find(g.op(id));
  const auto inputs = g.inputs(id);
  for (size_t i = 0; known && i < known->inputs.size() && i < inputs.size(); ++i) {
    if (known->inputs[i].name != "filename") continue;
    const std::string* name = constant_text(g, inputs[i].node);
    if (!name) return false;
    std::pair<std::string, std::string> found{cat(g.name(inputs[i].node), ":0"), *name};
    if (std::find(out.files.begin(), out.files.end(), found) == out.files.end()) out.files.push_back(std::move(found));
  }
  return true;
}

}  // namespace

TableFillers fillers_of(const GraphFile& file, const std::vector<NodeId>& init,
                        const std::set<std::string, std::less<>>& tables) {
  TableFillers out;
  for (NodeId id : nodes_that_do_something(file.graph, init)) {
    const auto holders = holders_behind(file, {id});
    const bool fills =
        std::any_of(holders.begin(), holders.end(), [&](const auto& name) { return tables.contains(name); });
    if (!fills || !may_run_again(file.graph, id) || !add_files(file, id, out)) continue;
    out.nodes.emplace_back(file.graph.name(id));
    for (const std::string& name : holders) {
      if (tables.contains(name)) out.filled.insert(name);
    }
  }
  return out;
}

}  // namespace emplace
