#include "core/place/isolate_calls.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

constexpr std::string_view kIdentity = "Identity";  // built here

class Isolator {
 public:
  Isolator(OpTable& ops, Graph& graph) : ops_(ops), graph_(graph) {}

  void run() {
    const std::vector<NodeId> calls = find_calls();
    if (calls.empty()) return;
    find_readers();
    for (NodeId call : calls) {
      isolate_inputs(call);
      isolate_outputs(call);
    }
  }

 private:
  struct Reader {
    NodeId node;
    uint32_t input;
  };

  std::vector<NodeId> find_calls() {
    std::vector<bool> inspected;
    for (const NodeType& type : graph_.types()) inspected.push_back(is_inspected_call(type));
    std::vector<NodeId> calls;
    if (std::find(inspected.begin(), inspected.end(), true) == inspected.end()) return calls;
    for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
      if (inspected[graph_.node(node).type]) calls.push_back(node);
    }
    for (NodeId call : calls) readers_[call];
    return calls;
  }

  void find_readers() {
    for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
      const auto inputs = graph_.inputs(node);
      for (uint32_t i = 0; i < inputs.size(); ++i) {
        if (auto call = readers_.find(inputs[i].node); call != readers_.end()) call->second.push_back({node, i});
      }
    }
  }

  void isolate_inputs(NodeId call) {
    for (uint32_t i = 0; i < graph_.node(call).num_inputs; ++i) {
      const Endpoint source = graph_.inputs(call)[i];
      const NodeId identity = add(free_name(cat(graph_.name(source.node), "_", graph_.name(call))), source);
      set_input({call, i}, identity);
      if (auto other = readers_.find(source.node); other != readers_.end()) other->second.push_back({identity, 0});
    }
  }

  void isolate_outputs(NodeId call) {
    std::vector<bool> read(graph_.num_outputs(call));
    for (const Reader& reader : readers_.at(call)) {
      const Endpoint output = graph_.inputs(reader.node)[reader.input];
      if (output.node != call) continue;  // a call that was isolated before reads an Identity by now
      read[output.slot] = true;
      set_input(reader, add(free_name(cat(graph_.name(call), "_", graph_.name(reader.node))), output));
    }
    for (uint32_t slot = 0; slot < read.size(); ++slot) {
      if (!read[slot]) add(free_name(graph_.name(call)), {call, slot});
    }
  }

  std::string free_name(std::string_view wanted) const {
    std::string name(wanted);
    for (int i = 0; graph_.find(name) != kNoNode; ++i) name = cat(wanted, "_", i);
    return name;
  }

  void set_input(const Reader& reader, NodeId source) {
    graph_.edges_[graph_.node(reader.node).first_input + reader.input] = {source, 0};
  }

  NodeId add(const std::string& name, Endpoint source) {
    const DType dtype = base_type(graph_.output_type(source));
    Node node;
    node.name = graph_.keep(name);
    node.op = graph_.intern(kIdentity);
    node.type = type_of(dtype);
    node.attr_set = attr_sets_.at(dtype);
    node.first_input = static_cast<uint32_t>(graph_.edges_.size());
    node.num_inputs = 1;
    node.first_output = static_cast<uint32_t>(graph_.output_shapes_.size());
    graph_.edges_.push_back(source);
    const uint32_t shape = graph_.output_shapes_[graph_.node(source.node).first_output + source.slot];
    graph_.output_shapes_.push_back(shape);
    const NodeId id = graph_.num_nodes();
    graph_.nodes_.push_back(node);
    graph_.index_name(id);
    return id;
  }

  uint32_t type_of(DType dtype) {
    auto [known, is_new] = types_.try_emplace(dtype, static_cast<uint32_t>(graph_.types().size()));
    if (!is_new) return known->second;
    const AttrValue* value = &graph_.attr_values_.emplace_back(AttrValue::of(dtype));
    attr_sets_[dtype] = static_cast<uint32_t>(graph_.attr_sets_.size());
    NodeType type;
    type.op = graph_.text(graph_.intern(kIdentity));
    type.signature = ops_.find(kIdentity);
    type.def = OpLibrary::find(kIdentity);
    type.traits = &traits_of(kIdentity);
    type.attrs = graph_.attr_sets_.emplace_back(std::vector<Attrs::Entry>{{"T", value}});
    type.input_types = type.output_types = graph_.type_lists_.dtypes.emplace_back(1, dtype);
    type.input_args = type.output_args = graph_.type_lists_.args.emplace_back(1, uint16_t{0});
    graph_.types_.push_back(type);
    return known->second;
  }

  OpTable& ops_;
  Graph& graph_;
  std::map<NodeId, std::vector<Reader>> readers_;  // by call
  std::map<DType, uint32_t> types_, attr_sets_;    // of Identity
};

}  // namespace

bool is_inspected_call(const NodeType& type) {
  if (type.traits->functional != Functional::kCall) return false;
  return std::find(type.output_types.begin(), type.output_types.end(), DType::kResource) != type.output_types.end();
}

void isolate_calls(OpTable& ops, Graph& graph) { Isolator(ops, graph).run(); }

}  // namespace emplace
