#include "core/formats/graph_versions.h"

#include <algorithm>
#include <vector>

#include "core/base/cat.h"
#include "core/op/trait_table.h"

namespace emplace {

std::string min_consumer_problem(int min_consumer) {
  if (min_consumer <= kGraphDefVersion) return {};
  return cat("the graph wants a reader of GraphDef version ", min_consumer, "; this one reads up to ", kGraphDefVersion,
             ", as TensorFlow 2.21");
}

std::string bad_consumer_problem(int bad_consumer) {
  if (bad_consumer != kGraphDefVersion) return {};
  return cat("the graph refuses readers of GraphDef version ", kGraphDefVersion, ", which this one is");
}

void open_placeholders(int producer, Graph& g) {
  constexpr int kLastWithOpen = 21;
  if (producer > kLastWithOpen) return;
  std::vector<bool> placeholder(g.num_texts());  // by text
  for (uint32_t t = 0; t < g.num_texts(); ++t) placeholder[t] = traits_of(g.text(t)).placeholder;
  const AttrValue* unknown = nullptr;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!placeholder[g.node(id).op]) continue;
    std::vector<Attrs::Entry> attrs(g.written_attrs(id).begin(), g.written_attrs(id).end());
    auto shape = std::find_if(attrs.begin(), attrs.end(), [](const Attrs::Entry& a) { return a.first == "shape"; });
    const Shape* found = shape == attrs.end() ? nullptr : shape->second->get_if<Shape>();
    if (!found || !found->rank_known() || found->rank() != 0) continue;
    if (!unknown) unknown = &g.attr_values_.emplace_back(AttrValue::of(Shape::unknown()));
    shape->second = unknown;
    g.nodes_[id].attr_set = static_cast<uint32_t>(g.attr_sets_.size());
    g.attr_sets_.push_back(std::move(attrs));
  }
}

}  // namespace emplace
