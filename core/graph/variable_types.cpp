#include "core/graph/variable_types.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/graph/shape_pass.h"
#include "core/graph/type_pass.h"

namespace emplace {
namespace {

bool has_attr(const Graph& g, NodeId id, std::string_view name) { return Attrs(g.written_attrs(id)).find(name) != nullptr; }

void add_attr(Graph& g, NodeId id, std::string_view name, AttrValue value) {
  if (has_attr(g, id, name)) return;
  std::vector<Attrs::Entry> attrs(g.written_attrs(id).begin(), g.written_attrs(id).end());
  attrs.push_back({name, &g.attr_values_.emplace_back(std::move(value))});
  g.nodes_[id].attr_set = static_cast<uint32_t>(g.attr_sets_.size());
  g.attr_sets_.push_back(std::move(attrs));
}

bool is_open(const Graph& g, const FileVariable& v) {
  return v.initial_value.node != kNoNode && !(has_attr(g, v.variable, "dtype") && has_attr(g, v.variable, "shape"));
}

// Types and shapes as far as they are known now. By node: is its type certain, that is, are those of all that it depends
// on? (A literal beside an open input got a type that may yet change.)
std::vector<bool> infer(const GraphFile& file, Graph& g) {
  std::vector<Literal> literals = g.literals_;
  Problems scratch;
  TypePass(file, g, scratch).run();
  ShapePass(g, scratch).run();
  g.literals_ = std::move(literals);  // they settle anew when all types are known
  std::vector<bool> certain(g.num_nodes(), false);
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    auto inputs = g.inputs(id);
    certain[id] = g.node(id).type < g.types().size() &&
                  std::all_of(inputs.begin(), inputs.end(), [&](const Endpoint& e) { return e.node >= id || certain[e.node]; });
  }
  return certain;
}

bool settle(Graph& g, const FileVariable& v, const std::vector<bool>& certain) {
  Endpoint value = v.initial_value;
  if (!certain[value.node] || value.slot >= g.num_outputs(value.node)) return false;
  DType dtype = base_type(g.output_type(value));
  add_attr(g, v.variable, "shape", AttrValue::of(g.output_shape(value)));
  add_attr(g, v.variable, "dtype", AttrValue::of(dtype));
  if (g.op(v.read) == "ReadVariableOp") add_attr(g, v.read, "dtype", AttrValue::of(dtype));
  return true;
}

}  // namespace

// Variables may depend on variables; each turn settles at least one more.
void settle_variable_types(GraphFile& file) {
  Graph& g = file.graph;
  std::vector<FileVariable> open;
  std::copy_if(file.variables.begin(), file.variables.end(), std::back_inserter(open), [&](const FileVariable& v) { return is_open(g, v); });
  for (size_t before = open.size() + 1; !open.empty() && open.size() < before;) {
    before = open.size();
    std::vector<bool> certain = infer(file, g);
    std::erase_if(open, [&](const FileVariable& v) { return settle(g, v, certain); });
  }
}

}  // namespace emplace
