// Part of core/formats/node_reader.h: The nodes that a variable in short form stands for: those that tf.Variable makes,
// with its names, devices and colocation (tensorflow/python/ops/variables.py and resource_variable_ops.py).
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

/// Adds the nodes of one variable, in the order in which tf.Variable makes them.
class VariableBuilder {
 public:
  VariableBuilder(LoadContext& c, GraphBuilder& builder, AttrSets& attrs, const GraphBuilder::NewNode& node,
                  std::string_view scope, bool handle)
      : c_(c),
        builder_(builder),
        graph_(builder.graph()),
        attrs_(attrs),
        node_(node),
        name_(node.name),
        scope_(scope),
        handle_(handle) {
    node_.op = graph_.intern(handle ? "VarHandleOp" : "VariableV2");
  }

  /// What the file says of the variable. Leaves the reader where it was.
  bool read(std::optional<size_t> attrs_at, size_t initial_value_at) {
    JsonReader& reader = c_.reader;
    const size_t after = reader.position();
    if (attrs_at) {
      reader.seek(*attrs_at);
      own_attrs_ = graph_.attr_sets_[attrs_.read(node_.op)];
    }
    const AttrValue* stated = Attrs(own_attrs_).find("dtype");
    if (stated && stated->get_if<DType>()) dtype_ = stated->get<DType>();
    reader.seek(initial_value_at);
    value_at_ = initial_value_at;
    if (reader.peek() == Kind::kString) {
      tensor_ = reader.take_string();
    } else {
      value_ = read_plain_tensor(c_, dtype_, Untyped::kFloat);
    }
    reader.seek(after);
    return !tensor_.empty() || value_;
  }

  bool from_tensor() const { return !tensor_.empty(); }

  /// Nothing, and a problem told, if a name is taken.
  std::optional<FileVariable> add() {
    colocated_ = attrs_.keep(AttrValue::list_of(AttrKind::kString, std::vector<std::string>{cat("loc:@", name_)}));
    OpenReferences::Variable nodes{};
    nodes.first_own = builder_.num_nodes();
    const NodeId initial = value_ ? add_constant() : kNoNode;
    nodes.variable = add_handle();
    if (nodes.variable == kNoNode || (value_ && initial == kNoNode)) return std::nullopt;
    if (from_tensor()) builder_.add_order(without_slot(tensor_), scope_, nodes.variable);
    if (handle_) {
      builder_.add_input(nodes.variable);
      add_part("/IsInitialized/VarIsInitializedOp", "VarIsInitializedOp", 0);
    }
    const NodeId assign = add_assign(nodes.variable, initial);
    builder_.add_input(nodes.variable);
    nodes.read =
        add_part(handle_ ? "/Read/ReadVariableOp" : "/read", handle_ ? "ReadVariableOp" : "Identity", typed_attrs());
    if (assign == kNoNode || nodes.read == kNoNode) return std::nullopt;
    nodes.end_own = builder_.num_nodes();
    builder_.add_variable(nodes);
    return FileVariable{nodes.variable, assign, nodes.read, true, {}};
  }

 private:
  std::string_view keep(std::string_view suffix) { return graph_.keep(cat(name_, suffix)); }

  NodeId add_constant() {
    dtype_ = value_->value.dtype();
    if (!has(own_attrs_, "dtype")) own_attrs_.push_back({"dtype", attrs_.type_value(dtype_)});
    if (!has(own_attrs_, "shape")) own_attrs_.push_back({"shape", attrs_.keep(AttrValue::of(value_->value.shape()))});
    GraphBuilder::NewNode constant;
    constant.name = keep(handle_ ? "/Initializer/initial_value" : "/initial_value");
    constant.position = static_cast<int64_t>(value_at_);
    constant.op = graph_.intern("Const");
    constant.device = handle_ ? 0 : node_.device;
    std::vector<Attrs::Entry> attrs{{"dtype", attrs_.type_value(dtype_)},
                                    {"value", attrs_.keep(AttrValue::of(std::move(value_->value)))}};
    if (handle_) attrs.push_back({"_class", colocated_});
    constant.attr_set = attrs_.add(std::move(attrs));
    return builder_.add_source(constant);
  }

  NodeId add_handle() {
    if (handle_ && !has(own_attrs_, "shared_name"))
      own_attrs_.push_back({"shared_name", attrs_.keep(AttrValue::of(name_))});
    if (handle_ && !has(own_attrs_, "_class")) own_attrs_.push_back({"_class", colocated_});
    node_.attr_set = attrs_.add(std::move(own_attrs_));
    return builder_.add_node(node_);
  }

  NodeId add_assign(NodeId variable, NodeId initial) {
    builder_.add_input(variable);
    if (!from_tensor()) {
      builder_.add_input(initial);
    } else if (tensor_.starts_with('^') || !builder_.add_input(tensor_, scope_)) {
      c_.reader.problem(value_at_, cat("initial_value '", tensor_, "' names no tensor"),
                        "a text value is written {\"dtype\": \"string\", \"data\": \"...\"}");
    }
    return add_part("/Assign", handle_ ? "AssignVariableOp" : "Assign", typed_attrs());
  }

  // With the inputs collected so far.
  NodeId add_part(std::string_view suffix, std::string_view op, uint32_t attr_set) {
    GraphBuilder::NewNode part = node_;
    part.name = keep(suffix);
    part.op = graph_.intern(op);
    part.attr_set = attr_set;
    return builder_.add_node(part);
  }

  // What the initial value's type decides stays open for validate() if another node makes the value.
  uint32_t typed_attrs() {
    std::vector<Attrs::Entry> out;
    if (dtype_ != DType::kInvalid) out.push_back({handle_ ? "dtype" : "T", attrs_.type_value(dtype_)});
    if (!handle_) out.push_back({"_class", colocated_});
    return attrs_.add(std::move(out));
  }

  LoadContext& c_;
  GraphBuilder& builder_;
  Graph& graph_;
  AttrSets& attrs_;
  GraphBuilder::NewNode node_;
  const std::string name_;
  const std::string_view scope_;
  const bool handle_;
  std::vector<Attrs::Entry> own_attrs_;  // of the variable itself
  DType dtype_ = DType::kInvalid;        // kInvalid: that of another node's output
  std::string_view tensor_;              // the initial value, if it is another node's output
  std::optional<PlainTensor> value_;
  size_t value_at_ = 0;
  const AttrValue* colocated_ = nullptr;  // ["loc:@NAME"]
};

}  // namespace

void NodeReader::add_variable(const Item& item, const Block& block, const GraphBuilder::NewNode& node) {
  if (item.op != kShortVariable) {
    c_.reader.problem(*item.initial_value, cat("initial_value on a node of op '", item.op, "'"),
                      "only op 'Variable' has one");
  }
  if (item.has_inputs)
    c_.reader.problem(item.name_position, "a variable with initial_value and inputs", "it has no inputs");
  builder_.drop_inputs();
  literals_.clear();
  VariableBuilder variable(c_, builder_, attrs_, node, block.scope, item.resource);
  if (!variable.read(item.attr, *item.initial_value)) return;
  std::optional<FileVariable> made = variable.add();
  if (!made) return;
  made->trainable = item.trainable;
  variables_.push_back(*made);
  from_tensor_.push_back(variable.from_tensor());
}

}  // namespace emplace
