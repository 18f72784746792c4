// The nodes that a variable in short form stands for: those that tf.Variable makes, with its names, devices and
// colocation (tensorflow/python/ops/variables.py and resource_variable_ops.py).
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/node_reader.h"
#include "core/formats/tensor_reader.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

std::string_view without_slot(std::string_view tensor) { return tensor.substr(0, tensor.find(':')); }

bool has(const std::vector<Attrs::Entry>& attrs, std::string_view name) {
  return std::any_of(attrs.begin(), attrs.end(), [&](const Attrs::Entry& e) { return e.first == name; });
}

}  // namespace

void NodeReader::add_variable(const Item& item, const Block& block, GraphBuilder::NewNode node) {
  JsonReader& reader = c_.reader;
  Graph& g = builder_.graph();
  if (item.op != "Variable") {
    reader.problem(*item.initial_value, cat("initial_value on a node of op '", item.op, "'"), "only op 'Variable' has one");
  }
  if (item.has_inputs) reader.problem(item.name_position, "a variable with initial_value and inputs", "it has no inputs");
  builder_.drop_inputs();
  literals_.clear();

  const bool handle = item.resource;
  size_t after = reader.position();
  node.op = g.intern(handle ? "VarHandleOp" : "VariableV2");
  std::vector<Attrs::Entry> attrs;
  if (item.attr) {
    reader.seek(*item.attr);
    attrs = g.attr_sets_[attrs_.read(node.op)];
  }
  const AttrValue* stated = Attrs(attrs).find("dtype");
  DType dtype = stated && stated->get_if<DType>() ? stated->get<DType>() : DType::kInvalid;

  reader.seek(*item.initial_value);
  std::string_view tensor;  // the initial value, if it is another node's output
  std::optional<PlainTensor> value;
  if (reader.peek() == Kind::kString) {
    tensor = reader.take_string();
  } else {
    value = read_plain_tensor(c_, dtype, Untyped::kFloat);
  }
  reader.seek(after);
  if (tensor.empty() && !value) return;

  std::string name(node.name);
  auto keep = [&](std::string_view suffix) { return g.keep(cat(name, suffix)); };
  const AttrValue* colocated = attrs_.keep(AttrValue::list_of(AttrKind::kString, std::vector<std::string>{cat("loc:@", name)}));
  GraphBuilder::VariableNodes nodes{};
  nodes.first_own = builder_.num_nodes();

  GraphBuilder::NewNode initial;
  NodeId initial_place = kNoNode;
  if (value) {
    dtype = value->value.dtype();
    if (!stated) attrs.push_back({"dtype", attrs_.type_value(dtype)});
    if (!has(attrs, "shape")) attrs.push_back({"shape", attrs_.keep(AttrValue::of(value->value.shape()))});
    initial.name = keep(handle ? "/Initializer/initial_value" : "/initial_value");
    initial.position = static_cast<int64_t>(*item.initial_value);
    initial.op = g.intern("Const");
    initial.device = handle ? 0 : node.device;
    std::vector<Attrs::Entry> constant{{"dtype", attrs_.type_value(dtype)}, {"value", attrs_.keep(AttrValue::of(std::move(value->value)))}};
    if (handle) constant.push_back({"_class", colocated});
    initial.attr_set = attrs_.add(std::move(constant));
    initial_place = builder_.add_source(initial);
  }
  // What the initial value's type decides stays open for validate() if another node makes the value.
  auto typed = [&](std::string_view attr, bool with_class) {
    std::vector<Attrs::Entry> out;
    if (dtype != DType::kInvalid) out.push_back({attr, attrs_.type_value(dtype)});
    if (with_class) out.push_back({"_class", colocated});
    return attrs_.add(std::move(out));
  };

  if (handle && !has(attrs, "shared_name")) attrs.push_back({"shared_name", attrs_.keep(AttrValue::of(name))});
  if (handle && !has(attrs, "_class")) attrs.push_back({"_class", colocated});
  node.attr_set = attrs_.add(std::move(attrs));
  nodes.variable = builder_.add_node(node);
  if (nodes.variable == kNoNode || (!initial.name.empty() && initial_place == kNoNode)) return;
  if (!tensor.empty()) builder_.add_order(without_slot(tensor), block.scope, nodes.variable);

  GraphBuilder::NewNode part = node;
  if (handle) {
    part.name = keep("/IsInitialized/VarIsInitializedOp");
    part.op = g.intern("VarIsInitializedOp");
    part.attr_set = 0;
    builder_.add_input(nodes.variable);
    builder_.add_node(part);
  }
  part.name = keep("/Assign");
  part.op = g.intern(handle ? "AssignVariableOp" : "Assign");
  part.attr_set = handle ? typed("dtype", false) : typed("T", true);
  builder_.add_input(nodes.variable);
  if (tensor.empty()) {
    builder_.add_input(initial_place);
  } else if (tensor.starts_with('^') || !builder_.add_input(tensor, block.scope)) {
    reader.problem(*item.initial_value, cat("initial_value '", tensor, "' names no tensor"), "a text value is written {\"dtype\": \"string\", \"data\": \"...\"}");
  }
  NodeId assign = builder_.add_node(part);
  part.name = keep(handle ? "/Read/ReadVariableOp" : "/read");
  part.op = g.intern(handle ? "ReadVariableOp" : "Identity");
  part.attr_set = handle ? typed("dtype", false) : typed("T", true);
  builder_.add_input(nodes.variable);
  nodes.read = builder_.add_node(part);
  if (assign == kNoNode || nodes.read == kNoNode) return;
  nodes.end_own = builder_.num_nodes();
  builder_.add_variable(nodes);
  variables_.push_back({nodes.variable, assign, nodes.read, item.trainable, {}});
  from_tensor_.push_back(!tensor.empty());
}

}  // namespace emplace
