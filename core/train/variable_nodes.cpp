#include "core/train/variable_nodes.h"

#include <algorithm>
#include <map>

#include "core/base/cat.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

namespace emplace {
namespace {

constexpr int64_t kSmall = 1000;  // elements that zeros() and ones() still write as a constant

Tensor filled(DType dtype, const Shape& shape, double value) {
  Tensor out = allocated(dtype, shape);
  with_type(dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::string>) std::fill_n(out.data<T>(), out.num_elements(), number_as<T>(value));
  });
  return out;
}

Endpoint add_first_value(GraphEditor& edit, const NewVariable& v) {
  if (v.first.source.node != kNoNode) return v.first.source;
  const std::string name = cat(v.name, "/", v.first.name);
  if (!v.first.may_fill || v.shape.num_elements() < kSmall) {
    return edit.constant(name, filled(v.dtype, v.shape, v.first.value), v.colocate_with, v.device);
  }
  std::vector<int32_t> dims(v.shape.dims().begin(), v.shape.dims().end());
  Tensor shape = Tensor::of<int32_t>({static_cast<int64_t>(dims.size())}, dims);
  Endpoint size = edit.constant(cat(name, "/shape_as_tensor"), std::move(shape), v.colocate_with, v.device);
  Endpoint value = edit.constant(cat(name, "/Const"), filled(v.dtype, {}, v.first.value), v.colocate_with, v.device);
  return edit.add_output(
      {.name = name, .op = "Fill", .inputs = {size, value}, .device = v.device, .colocate_with = v.colocate_with});
}

}  // namespace

TrainVariable describe_variable(const Graph& graph, NodeId node) {
  Attrs attrs = graph.attrs(node);
  return {node, std::string(graph.name(node)), graph.output_type({node, 0}) == DType::kResource, attrs.type("dtype"),
          attrs.shape("shape")};
}

Tensor scalar_of(DType dtype, double number) { return filled(dtype, {}, number); }

VariableNodes add_variable(GraphEditor& edit, const NewVariable& v) {
  VariableNodes out;
  out.resource = v.resource;
  const Endpoint first = add_first_value(edit, v);
  const AttrValue dtype = AttrValue::of(v.dtype);

  NewNode variable{.name = v.name,
                   .op = v.resource ? "VarHandleOp" : "VariableV2",
                   .device = v.device,
                   .colocate_with = v.colocate_with};
  variable.attrs = {{"dtype", dtype}, {"shape", AttrValue::of(v.shape)}};
  if (v.resource) {
    variable.attrs.push_back({"shared_name", AttrValue::of(v.name)});
    variable.attrs.push_back({"debug_name", AttrValue::of(cat(v.name, "/"))});
  }
  out.variable = edit.add(std::move(variable));
  if (out.variable == kNoNode) return out;

  const std::string device(edit.graph().requested_device(out.variable));
  if (v.resource) {
    edit.add({.name = cat(v.name, "/IsInitialized/VarIsInitializedOp"),
              .op = "VarIsInitializedOp",
              .inputs = {out.handle()},
              .device = device,
              .colocate_with = v.colocate_with});
    out.assign = edit.add({.name = cat(v.name, "/Assign"),
                           .op = "AssignVariableOp",
                           .inputs = {out.handle(), first},
                           .attrs = {{"dtype", dtype}},
                           .device = device});
    out.read = edit.add_output({.name = cat(v.name, "/Read/ReadVariableOp"),
                                .op = "ReadVariableOp",
                                .inputs = {out.handle()},
                                .attrs = {{"dtype", dtype}},
                                .device = device,
                                .colocate_with = v.colocate_with});
  } else {
    out.assign = edit.add({.name = cat(v.name, "/Assign"),
                           .op = "Assign",
                           .inputs = {out.handle(), first},
                           .colocate_with = {out.variable}});
    out.read = edit.add_output(
        {.name = cat(v.name, "/read"), .op = "Identity", .inputs = {out.handle()}, .colocate_with = {out.variable}});
  }
  return out;
}

VariableNodes add_scalar_variable(GraphEditor& edit, std::string name, Tensor first, bool resource,
                                  std::vector<NodeId> colocate_with, std::string device) {
  NewVariable v{.name = std::move(name),
                .resource = resource,
                .dtype = first.dtype(),
                .shape = {},
                .first = {},
                .colocate_with = std::move(colocate_with),
                .device = std::move(device)};
  v.first.source = edit.constant(cat(v.name, resource ? "/Initializer/initial_value" : "/initial_value"),
                                 std::move(first), v.colocate_with, v.device);
  return add_variable(edit, v);
}

Endpoint read_now(GraphEditor& edit, std::string name, const Endpoint& handle, bool resource,
                  std::vector<NodeId> controls) {
  if (!resource) return handle;
  const DType dtype = edit.graph().attrs(handle.node).type("dtype");
  return edit.add_output({.name = std::move(name),
                          .op = "ReadVariableOp",
                          .inputs = {handle},
                          .attrs = {{"dtype", AttrValue::of(dtype)}},
                          .controls = std::move(controls),
                          .device = std::string(edit.graph().requested_device(handle.node))});
}

std::string free_name(const GraphEditor& edit, std::string_view name) {
  std::string out(name);
  for (int i = 1; edit.graph().find(out) != kNoNode; ++i) out = cat(name, "_", i);
  return out;
}

std::string free_scope(const GraphEditor& edit, std::string_view scope) {
  auto is_taken = [&](const std::string& name) {
    for (NodeId id = 0; id < edit.graph().num_nodes(); ++id) {
      if (edit.graph().name(id).starts_with(cat(name, "/"))) return true;
    }
    return false;
  };
  std::string out(scope);
  for (int i = 1; is_taken(out); ++i) out = cat(scope, "_", i);
  return out;
}

NodeId add_group(GraphEditor& edit, const std::string& name, const std::vector<NodeId>& nodes) {
  std::map<std::string, std::vector<NodeId>> by_device;
  auto by_name = [&](NodeId a, NodeId b) { return edit.graph().name(a) < edit.graph().name(b); };
  for (NodeId node : nodes) {
    if (node == kNoNode) return kNoNode;
    by_device[std::string(edit.graph().requested_device(node))].push_back(node);
  }
  for (auto& [device, members] : by_device) std::sort(members.begin(), members.end(), by_name);
  if (by_device.size() == 1) {
    return edit.add(
        {.name = name, .op = "NoOp", .controls = by_device.begin()->second, .device = by_device.begin()->first});
  }
  std::vector<NodeId> groups;
  groups.reserve(by_device.size());
  for (auto& [device, members] : by_device) {
    groups.push_back(edit.add({.name = cat(name, "/NoOp"), .op = "NoOp", .controls = members, .device = device}));
  }
  return edit.add({.name = name, .op = "NoOp", .controls = groups});
}

}  // namespace emplace
