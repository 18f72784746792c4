// Part of core/train/checkpoint.h: Between a checkpoint and a session.
#include <map>

#include "core/base/cat.h"
#include "core/tensor/mapped_buffer.h"
#include "core/train/checkpoint.h"
#include "core/train/checkpoint_tables.h"

namespace emplace {
namespace {

/// What does not fit, in lists that stay readable for large graphs.
class Misfits {
 public:
  void add(std::string_view kind, const std::string& line) {
    auto& [count, text] = lists_[std::string(kind)];
    constexpr int kShown = 20;
    if (++count <= kShown) append(text, "\n    ", line);
  }
  bool empty() const { return lists_.empty(); }
  std::string text() const {
    std::string out;
    for (const auto& [kind, list] : lists_) append(out, "\n  ", kind, ": ", list.first, list.second);
    return out;
  }

 private:
  std::map<std::string, std::pair<int, std::string>> lists_;
};

std::string type_text(DType dtype, const Shape& shape) { return cat(dtype_name(dtype), " ", shape.to_string()); }

bool is_copy(NodeId node, const std::vector<std::pair<NodeId, NodeId>>& copies) {
  for (const auto& [copy, original] : copies) {
    if (copy == node) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::pair<std::string, Tensor>>> read_variables(
    const Graph& g, Session& session, const std::vector<std::pair<NodeId, NodeId>>& copies) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).variable || is_copy(id, copies)) continue;
    ASSIGN_OR_RETURN(Tensor value, session.variable(id));
    if (value.valid()) out.emplace_back(g.name(id), std::move(value));
  }
  RETURN_IF_ERROR(read_tables(g, session, out));
  return out;
}

Status apply_checkpoint(const Checkpoint& checkpoint, const Graph& g, Session& session,
                        const std::vector<std::pair<NodeId, NodeId>>& copies, Fit fit,
                        const std::vector<char>* needed) {
  std::map<std::string_view, const Tensor*> saved;
  for (const auto& [name, value] : checkpoint.variables) saved.emplace(name, &value);
  std::vector<std::pair<NodeId, const Tensor*>> found;
  Misfits misfits;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).variable || is_copy(id, copies)) continue;
    DType dtype = g.attrs(id).type("dtype");
    const Shape& shape = g.attrs(id).shape("shape");
    auto it = saved.find(g.name(id));
    if (it == saved.end()) {
      if (needed && !(*needed)[id]) continue;
      misfits.add("missing", cat(g.name(id), " ", type_text(dtype, shape)));
      continue;
    }
    const Tensor& value = *it->second;
    if (value.dtype() != dtype || !shape.compatible_with(value.shape())) {
      misfits.add("different", cat(g.name(id), " ", type_text(value.dtype(), value.shape()), ", the graph has ",
                                   type_text(dtype, shape)));
    }
    found.emplace_back(id, &value);
    saved.erase(it);
  }
  for (NodeId id : table_nodes(g)) {
    const TableNames names(g.name(id));
    saved.erase(names.keys), saved.erase(names.values);
  }
  for (const auto& [name, value] : saved) {
    if (fit == Fit::kExact) misfits.add("not in the graph", cat(name, " ", type_text(value->dtype(), value->shape())));
  }
  if (!misfits.empty())
    return invalid_argument(cat("the checkpoint does not fit the graph; variables that are", misfits.text()))
        .blamed(Blame::kUsage);
  // Who only reads takes them from the file; training writes to them at once.
  const bool shared = fit == Fit::kCovers;
  for (const auto& [node, value] : found)
    RETURN_IF_ERROR(shared && is_aligned(*value) ? session.share_variable(node, *value)
                                                 : session.set_variable(node, *value));
  for (const auto& [copy, original] : copies) {
    ASSIGN_OR_RETURN(Tensor value, session.variable(original));
    RETURN_IF_ERROR(session.set_variable(copy, value));
  }
  for (const auto& [name, blocks] : checkpoint.random) {
    if (NodeId node = g.find(name); node != kNoNode) session.set_random_counter(node, blocks);
  }
  return ok_status();
}

}  // namespace emplace
