#include "core/train/bundle_checkpoint.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/cat.h"
#include "core/formats/checkpoint/bundle.h"
#include "core/formats/checkpoint/saver.h"
#include "core/tensor/mapped_buffer.h"

namespace emplace {
namespace {

/// The key under which object-based checkpoints keep the map from a program's objects to tensors; not a variable
/// itself.
constexpr std::string_view kObjects = "_CHECKPOINTABLE_OBJECT_GRAPH";

constexpr int64_t kManyBytes = int64_t{16} << 20;  // a checksum over so many takes longer than to start

/// By node: a variable that the step only takes rows of.
std::vector<char> read_by_rows(const Graph& g, const std::vector<char>& needed) {
  std::vector<char> by_rows(g.num_nodes(), 0);
  std::vector<NodeId> handle_of(g.num_nodes(), kNoNode);  // the variable whose handle a node hands on
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (g.traits(id).variable) handle_of[id] = id, by_rows[id] = 1;
    if (!needed[id]) continue;
    bool first = true;
    for (const Endpoint& e : g.inputs(id)) {
      const bool is_first = std::exchange(first, false);
      const NodeId variable = e.node < id ? handle_of[e.node] : kNoNode;
      if (variable == kNoNode) continue;
      if (g.traits(id).identity) {
        handle_of[id] = variable;
      } else if (!is_first || !g.traits(id).leaves_state || g.traits(id).reads_variable) {
        by_rows[variable] = 0;
      }
    }
  }
  return by_rows;
}

Status set_checked(Session& session, const Graph& g, NodeId id, const std::string& key, const Tensor& value,
                   bool rows_only) {
  const DType dtype = g.attrs(id).type("dtype");
  const Shape& shape = g.attrs(id).shape("shape");
  if (value.dtype() != dtype || !shape.compatible_with(value.shape()))
    return invalid_argument(cat("tensor '", key, "' is ", dtype_name(value.dtype()), " ", value.shape().to_string(),
                                ", variable '", g.name(id), "' is ", dtype_name(dtype), " ", shape.to_string()));
  return rows_only || is_aligned(value) ? session.share_variable(id, value) : session.set_variable(id, value);
}

}  // namespace

Result<std::optional<Checkpoint>> load_bundle(const std::string& name, const GraphFile* file, const Graph* wanted,
                                              Parallel& parallel) {
  ASSIGN_OR_RETURN(std::optional<TensorBundle> bundle, TensorBundle::find(name));
  if (!bundle) return std::optional<Checkpoint>();
  Checkpoint checkpoint;
  const auto saver = file ? saver_of(*file) : std::map<std::string, SavedTensor, std::less<>>();
  const auto is_wanted = [&](std::string_view variable) { return !wanted || wanted->find(variable) != kNoNode; };
  for (const auto& [key, entry] : bundle->entries()) {
    if (key == kObjects || saver.contains(key) || !is_wanted(key)) continue;
    ASSIGN_OR_RETURN(Tensor value, bundle->lend(key, {}, parallel));
    checkpoint.variables.emplace_back(key, std::move(value));
  }
  for (const auto& [variable, saved] : saver) {
    if (!bundle->entries().contains(saved.key) || !is_wanted(variable)) continue;
    ASSIGN_OR_RETURN(Tensor value, bundle->lend(saved.key, saved.slice, parallel));
    checkpoint.variables.emplace_back(variable, std::move(value));
  }
  return std::optional(std::move(checkpoint));
}

Status restore_saved_model(const std::string& prefix, const GraphFile& file, const Graph& g,
                           const std::vector<char>& needed, Session& session, Parallel& parallel) {
  const auto saver = saver_of(file);
  const std::vector<char> by_rows = read_by_rows(g, needed);
  std::optional<TensorBundle> bundle;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).variable) continue;
    auto saved = saver.find(g.name(id));
    if (saved == saver.end()) continue;  // the init op gives it a value, or the step says that it has none
    if (!bundle) {
      ASSIGN_OR_RETURN(bundle, TensorBundle::find(prefix));
      if (!bundle) return not_found(cat(prefix, ".index: there is no such file, and the model has variables"));
    }
    const auto& [key, slice] = saved->second;
    if (!bundle->entries().contains(key)) {
      if (!needed[id]) continue;
      return not_found(cat(prefix, ".index: no tensor '", key, "', which variable '", g.name(id), "' gets"));
    }
    const bool as_it_is = by_rows[id] && bundle->entries().find(key)->second.size >= kManyBytes;
    ASSIGN_OR_RETURN(const Tensor value, as_it_is ? bundle->map(key, slice) : bundle->lend(key, slice, parallel));
    RETURN_IF_ERROR(set_checked(session, g, id, key, value, as_it_is).with_context(cat(prefix, ".index")));
  }
  return ok_status();
}

}  // namespace emplace
