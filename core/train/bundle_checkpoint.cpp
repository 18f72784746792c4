#include "core/train/bundle_checkpoint.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/cat.h"
#include "core/formats/checkpoint/bundle.h"
#include "core/formats/checkpoint/saver.h"
#include "core/tensor/mapped_buffer.h"
#include "core/train/checkpoint_tables.h"

namespace emplace {
namespace {

/// The key under which object-based checkpoints keep the map from a program's objects to tensors; not a variable
/// itself.
constexpr std::string_view kObjects = "_CHECKPOINTABLE_OBJECT_GRAPH";

constexpr int64_t kManyBytes = int64_t{16} << 20;  // a checksum over so many takes longer than to start
constexpr int64_t kLooseFrom = int64_t{1} << 20;   // smaller ones are copied (core/op/loose_inputs.h)

Status set_checked(Session& session, const Graph& g, NodeId id, const std::string& key, const Tensor& value,
                   bool anywhere) {
  const DType dtype = g.attrs(id).type("dtype");
  const Shape& shape = g.attrs(id).shape("shape");
  if (value.dtype() != dtype || !shape.compatible_with(value.shape()))
    return invalid_argument(cat("tensor '", key, "' is ", dtype_name(value.dtype()), " ", value.shape().to_string(),
                                ", variable '", g.name(id), "' is ", dtype_name(dtype), " ", shape.to_string()));
  return anywhere || is_aligned(value) ? session.share_variable(id, value) : session.set_variable(id, value);
}

}  // namespace

Result<std::optional<Checkpoint>> load_bundle(const std::string& name, const GraphFile* file, const Graph* wanted,
                                              Parallel& parallel) {
  ASSIGN_OR_RETURN(std::optional<TensorBundle> bundle, TensorBundle::find(name));
  if (!bundle) return std::optional<Checkpoint>();
  Checkpoint checkpoint;
  auto saver = file ? saver_of(*file) : std::map<std::string, SavedTensor, std::less<>>();
  for (const SavedTable& table : file ? saved_tables(*file) : std::vector<SavedTable>()) {
    const TableNames names(table.node);
    saver.emplace(names.keys, table.keys), saver.emplace(names.values, table.values);
  }
  std::set<std::string, std::less<>> tables;
  for (NodeId id : wanted ? table_nodes(*wanted) : std::vector<NodeId>()) {
    TableNames names(wanted->name(id));
    tables.insert({std::move(names.keys), std::move(names.values)});
  }
  const auto is_wanted = [&](std::string_view key) {
    return !wanted || wanted->find(key) != kNoNode || tables.contains(key);
  };
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
                           const std::vector<char>& needed, const std::vector<ReadAs>& readers, Session& session,
                           Parallel& parallel) {
  const auto saver = saver_of(file);
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
    const int64_t size = bundle->entries().find(key)->second.size;
    const bool rows = readers[id] == ReadAs::kRows && size >= kManyBytes;
    const bool anywhere = rows || (readers[id] != ReadAs::kAligned && size >= kLooseFrom);
    ASSIGN_OR_RETURN(const Tensor value, rows ? bundle->map(key, slice) : bundle->lend(key, slice, parallel));
    RETURN_IF_ERROR(set_checked(session, g, id, key, value, anywhere).with_context(cat(prefix, ".index")));
  }
  return ok_status();
}

}  // namespace emplace
