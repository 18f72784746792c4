#include "core/formats/trainable.h"

#include "core/formats/checkpoint/saver.h"

namespace emplace {
namespace {

/// A graph with the collection has no trainable variable beside those in it.
VariableNames by_collections(const MetaGraph& meta, const Graph& g) {
  VariableNames trainable, others;
  for (const VariableInfo& v : meta.variables) {
    if (v.trainable) trainable.insert(v.variable);
  }
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (g.traits(id).variable && !trainable.contains(g.name(id))) others.emplace(g.name(id));
  }
  return others;
}

VariableNames by_objects(const MetaGraph& meta, const GraphFile& file) {
  VariableNames others;
  for (const auto& [variable, saved] : saver_of(file)) {
    if (!meta.objects.trainable(saved.key).value_or(true)) others.insert(variable);
  }
  return others;
}

}  // namespace

VariableNames not_trainable(const MetaGraph* meta, const GraphFile& file) {
  if (meta && !meta->variables.empty()) return by_collections(*meta, file.graph);
  if (meta) return by_objects(*meta, file);
  VariableNames others;
  for (const FileVariable& v : file.variables) {
    if (!v.trainable) others.emplace(file.graph.name(v.variable));
  }
  return others;
}

}  // namespace emplace
