#include "core/train/optimizers/row_update.h"

#include <algorithm>

#include "core/base/assert.h"
#include "core/base/cat.h"

namespace emplace {

RowUpdate::RowUpdate(GraphEditor& edit, const UpdateRule& rule, const GradientAndVariable& g,
                     const std::vector<VariableNodes>& slots, std::string scope,
                     std::function<Endpoint(std::string_view)> operand)
    : edit_(edit),
      rule_(rule),
      variable_(g.variable),
      slots_(slots),
      scope_(std::move(scope)),
      operand_(std::move(operand)) {
  rows_ = op("Unique", {g.indices});
  gradient_ = op("UnsortedSegmentSum", {g.gradient, {rows_.node, 1}, op("Size", {rows_})});
}

Endpoint RowUpdate::op(std::string_view kind, std::vector<Endpoint> inputs) {
  return edit_.add_output({.name = cat(scope_, "/", kind),
                           .op = std::string(kind),
                           .inputs = std::move(inputs),
                           .colocate_with = {variable_.node}});
}

bool RowUpdate::flag(std::string_view name) const {
  return std::any_of(rule_.flags.begin(), rule_.flags.end(),
                     [&](const auto& f) { return f.first == name && f.second; });
}

bool RowUpdate::has_slot(std::string_view key) const {
  return std::any_of(rule_.slots.begin(), rule_.slots.end(), [&](const SlotRule& s) { return s.key == key; });
}

const VariableNodes& RowUpdate::slot_nodes(std::string_view key) const {
  auto found = std::find_if(rule_.slots.begin(), rule_.slots.end(), [&](const SlotRule& s) { return s.key == key; });
  EMPLACE_ASSERT(found != rule_.slots.end(), "a rule's step reads only slots that the rule has");
  return slots_[static_cast<size_t>(found - rule_.slots.begin())];
}

Endpoint RowUpdate::slot(std::string_view key) {
  const VariableNodes& slot = slot_nodes(key);
  NewNode gather{.name = cat(scope_, "/", key), .colocate_with = {slot.variable}};
  if (slot.resource) {
    gather.op = "ResourceGather";
    gather.inputs = {slot.handle(), rows_};
    gather.attrs = {{"dtype", AttrValue::of(variable_.dtype)}};
  } else {
    gather.op = "GatherV2";
    gather.inputs = {slot.read, rows_,
                     edit_.constant(cat(scope_, "/", key, "/axis"), scalar_of(DType::kInt32, 0), {slot.variable})};
  }
  return edit_.add_output(std::move(gather));
}

void RowUpdate::set_slot(std::string_view key, Endpoint value) {
  const VariableNodes& slot = slot_nodes(key);
  write("ScatterUpdate", slot.handle(), slot.resource, value);
}

void RowUpdate::apply(std::string_view kind) {
  const std::string op = cat(variable_.resource ? "Resource" : "", kind);
  NewNode node{.name = cat(scope_, "/", op), .op = op, .colocate_with = {variable_.node}};
  for (std::string_view operand : rule_.operands) {
    if (operand == "variable")
      node.inputs.push_back(variable_.handle());
    else if (operand == "gradient")
      node.inputs.insert(node.inputs.end(), {gradient_, rows_});
    else if (has_slot(operand))
      node.inputs.push_back(slot_nodes(operand).handle());
    else
      node.inputs.push_back(operand_(operand));
  }
  for (const auto& [flag, value] : rule_.flags) node.attrs.emplace_back(flag, AttrValue::of(value));
  writes_.push_back(edit_.add(std::move(node)));
}

void RowUpdate::subtract(Endpoint step) { write("ScatterSub", variable_.handle(), variable_.resource, step); }

void RowUpdate::write(std::string_view kind, Endpoint handle, bool resource, Endpoint value) {
  const std::string op = cat(resource ? "Resource" : "", kind);
  writes_.push_back(edit_.add(
      {.name = cat(scope_, "/", op), .op = op, .inputs = {handle, rows_, value}, .colocate_with = {handle.node}}));
}

Endpoint densify_rows(GraphEditor& edit, const GradientAndVariable& g, const std::string& scope) {
  const std::vector<NodeId> with = {g.variable.node};
  const Endpoint count =
      edit.constant(cat(scope, "/rows"), scalar_of(DType::kInt64, static_cast<double>(g.variable.shape.dim(0))), with);
  return edit.add_output({.name = cat(scope, "/UnsortedSegmentSum"),
                          .op = "UnsortedSegmentSum",
                          .inputs = {g.gradient, g.indices, count},
                          .colocate_with = with});
}

}  // namespace emplace
