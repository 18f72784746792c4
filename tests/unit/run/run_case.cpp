#include "tests/unit/run/run_case.h"

#include "core/base/cat.h"
#include "core/op/trait_table.h"

namespace emplace::testing {

RunCase::RunCase(int gpus, int64_t memory) {
  file.ops = std::make_unique<OpTable>();
  auto add_device = [&](std::string type, int id, DeviceKind kind, int64_t limit) {
    Device d;
    d.name = cat("/job:localhost/replica:0/task:0/device:", type, ":", id);
    d.parsed = *DeviceName::parse(d.name);
    d.type = std::move(type);
    d.kind = kind;
    d.memory_limit = limit;
    devices.devices.push_back(std::move(d));
  };
  add_device("CPU", 0, DeviceKind::kCpu, int64_t{256} << 20);
  for (int i = 0; i < gpus; ++i) add_device("GPU", i, DeviceKind::kSimulatedGpu, memory);
}

std::string& RunCase::text(std::string s) { return texts_.emplace_back(std::move(s)); }

Endpoint RunCase::add(NodeSpec spec) {
  Graph& g = file.graph;
  auto id = static_cast<NodeId>(g.nodes_.size());
  NodeType type;
  type.op = text(spec.op);
  type.signature = file.ops->find(spec.op);
  type.def = OpLibrary::find(spec.op);
  type.traits = &traits_of(spec.op);
  auto& attrs = g.type_lists_.attrs.emplace_back();
  for (auto& [name, value] : spec.attrs) attrs.emplace_back(text(name), &g.attr_values_.emplace_back(std::move(value)));
  auto& in = g.type_lists_.dtypes.emplace_back(spec.input_types);
  auto& in_args = g.type_lists_.args.emplace_back();
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.input_types.empty()) in.push_back(base_type(g.output_type(spec.inputs[i])));
    in_args.push_back(static_cast<uint16_t>(std::min(i, type.signature->inputs.size() - 1)));
  }
  auto& out_args = g.type_lists_.args.emplace_back();
  for (size_t i = 0; i < spec.outputs.size(); ++i)
    out_args.push_back(static_cast<uint16_t>(std::min(i, type.signature->outputs.size() - 1)));
  bool has_t = type.signature->find_attr("T") >= 0;
  bool given = std::any_of(attrs.begin(), attrs.end(), [](const auto& a) { return a.first == "T"; });
  if (has_t && !given && !in.empty())
    attrs.emplace_back("T", &g.attr_values_.emplace_back(AttrValue::of(base_type(in[0]))));
  for (const AttrSignature& a : type.signature->attrs) {
    bool has = std::any_of(attrs.begin(), attrs.end(), [&](const auto& e) { return e.first == a.name; });
    if (!has && a.default_value) attrs.emplace_back(a.name, &*a.default_value);
  }
  type.attrs = attrs;
  type.input_types = in;
  type.output_types = g.type_lists_.dtypes.emplace_back(spec.outputs);
  type.input_args = in_args;
  type.output_args = out_args;

  Node node;
  node.name = text(cat("n", id));
  node.op = g.intern(type.op);
  node.type = static_cast<uint32_t>(g.types_.size());
  g.types_.push_back(type);
  node.first_input = static_cast<uint32_t>(g.edges_.size());
  node.num_inputs = static_cast<uint32_t>(spec.inputs.size());
  node.num_controls = static_cast<uint32_t>(spec.controls.size());
  for (const Endpoint& e : spec.inputs) g.edges_.push_back(e);
  for (NodeId c : spec.controls) g.edges_.push_back({c, 0});
  node.first_output = static_cast<uint32_t>(g.output_shapes_.size());
  g.output_shapes_.resize(g.output_shapes_.size() + spec.outputs.size(), 0);
  g.nodes_.push_back(node);
  Decision decision;
  decision.device = spec.device;
  placement.decisions.push_back(decision);
  return {id, 0};
}

Endpoint RunCase::constant(Tensor value, DeviceId device) {
  DType dtype = value.dtype();
  return add({"Const",
              {},
              {{"value", AttrValue::of(std::move(value))}, {"dtype", AttrValue::of(dtype)}},
              {dtype},
              {},
              {},
              device});
}

void RunCase::rewire(NodeId node, size_t input, Endpoint source) {
  file.graph.edges_[file.graph.node(node).first_input + input] = source;
}

Result<std::unique_ptr<Session>> RunCase::session(SessionOptions options) {
  return Session::create(file, devices, placement, std::move(options));
}

Result<std::vector<Tensor>> RunCase::fetch_all(std::vector<Endpoint> e, SessionOptions options, int steps) {
  options.fetches = std::move(e);
  ASSIGN_OR_RETURN(auto s, session(std::move(options)));
  std::vector<Tensor> out;
  for (int i = 0; i < steps; ++i) RETURN_IF_ERROR(s->step(out));
  return out;
}

Result<Tensor> RunCase::fetch(Endpoint e) {
  ASSIGN_OR_RETURN(auto all, fetch_all({e}));
  return all[0];
}

}  // namespace emplace::testing
