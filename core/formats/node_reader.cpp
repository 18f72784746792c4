#include "core/formats/node_reader.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/device/device_name.h"
#include "core/formats/arguments.h"
#include "core/formats/node_name.h"
#include "core/formats/value_reader.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

constexpr int kMaxBlockDepth = 64;
constexpr NodeId kCountEvery = 4096;  // nodes between two looks at the memory that they take
constexpr NodeId kSample = 2048;      // nodes after which the size of the graph is estimated

enum Field {
  kName,
  kOp,
  kInput,
  kDevice,
  kAttr,
  kInitialValue,
  kResource,
  kTrainable,
  kScope,
  kNode,
  kDebugInfo,
  kType
};
constexpr std::string_view kKeys[] = {"name",
                                      "op",
                                      "input",
                                      "device",
                                      "attr",
                                      "initial_value",
                                      "resource",
                                      "trainable",
                                      "scope",
                                      "node",
                                      "experimental_debug_info",
                                      "experimental_type"};

}  // namespace

void NodeReader::read_list(const Block& block) {
  if (!expect(c_.reader, Kind::kArray, "node")) return;
  c_.reader.enter_array();
  while (c_.reader.next_element()) {
    read_item(block);
    if (builder_.num_nodes() == kSample) expect_as_before();
    if (builder_.num_nodes() % kCountEvery == 0 && !c_.may_go_on()) return;
  }
}

// Presizes the tables as if the rest of the text were like the part that is read.
void NodeReader::expect_as_before() {
  double share = static_cast<double>(c_.reader.position()) / static_cast<double>(c_.source.text().size());
  double scale = 1.05 / std::max(share, 1e-6);
  auto scaled = [&](size_t n) { return static_cast<size_t>(static_cast<double>(n) * scale); };
  builder_.expect(scaled(builder_.num_nodes()), scaled(builder_.graph().edges_.size()));
}

void NodeReader::read_item(const Block& block) {
  Item item;
  ObjectReader object(c_.reader, kKeys, "a node", "attrs of the op stand in \"attr\": {...}");
  if (!object.open()) return;
  while (object.next()) read_member(item, object.field(), block);
  if (c_.reader.failed()) return builder_.drop_inputs();
  if (!item.nodes) return add_node(item, block, object.position());
  keys_of_node(object);
  builder_.drop_inputs();
  literals_.clear();
  read_block(item, block);
}

// Problems about those that a block does not have.
void NodeReader::keys_of_node(const ObjectReader& block) {
  for (int field : {kName, kOp, kInput, kAttr, kInitialValue}) {
    if (block.has(field))
      c_.reader.problem(block.position(), cat("a block of nodes with the key '", kKeys[field], "'"),
                        "a block has device, scope and node");
  }
}

std::string_view NodeReader::text_member(Item& item, std::string_view key) {
  const std::optional<std::string_view> text = read_text(c_.reader, key);
  item.told |= !text;
  return text.value_or("");
}

void NodeReader::read_member(Item& item, int field, const Block& block) {
  JsonReader& reader = c_.reader;
  switch (field) {
    case kName:
      item.name_position = reader.position();
      item.name = text_member(item, "name");
      builder_.announce(item.name);
      break;
    case kOp:
      item.op = text_member(item, "op");
      break;
    case kInput:
      item.has_inputs = true;
      read_inputs(block);
      break;
    case kDevice:
      item.device_position = reader.position();
      item.device = read_text(reader, "device").value_or("");
      break;
    case kAttr:
      item.attr = reader.position();
      // Values are read by the op's declared types; a Variable's belong to several ops.
      if (!item.op.empty() && item.op != kShortVariable) item.attr_set = attrs_.read(op_id(item.op)), item.attr.reset();
      break;
    case kInitialValue:
      item.initial_value = reader.position();
      break;
    case kResource:
      item.resource = read_bool(reader, "resource").value_or(false);
      break;
    case kTrainable:
      item.trainable = read_bool(reader, "trainable").value_or(true);
      break;
    case kScope:
      item.scope = read_text(reader, "scope").value_or("");
      break;
    case kNode:
      item.nodes = reader.position();
      break;
    default:
      break;
  }
}

void NodeReader::read_inputs(const Block& block) {
  JsonReader& reader = c_.reader;
  if (!expect(reader, Kind::kArray, "input")) return;
  reader.enter_array();
  while (reader.next_element()) {
    Kind kind = reader.peek();
    size_t at = reader.position();
    bool control = false;
    if (kind == Kind::kString) {
      std::string_view text = reader.take_string();
      control = text.starts_with('^');
      if (!reader.failed() && !builder_.add_input(text, block.scope)) {
        no_tensor(text, at);
      }
    } else if (kind == Kind::kNull || kind == Kind::kError) {
      reader.skip();
      reader.problem(at, "found null in input");
    } else {
      literals_.push_back({builder_.num_inputs(), at, read_plain_tensor(c_, DType::kInvalid, Untyped::kAsWritten)});
      builder_.add_open_input();
    }
    if (!control && builder_.has_controls() && !reader.failed()) {
      reader.problem(at, "a data input after a control input", "control inputs come last");
    }
  }
}

void NodeReader::no_tensor(std::string_view text, size_t position) {
  c_.reader.problem(
      position, cat("input '", text, "' names no tensor"),
      "wanted 'node', 'node:1' or '^node'; a text value is written {\"dtype\": \"string\", \"data\": \"...\"}");
}

void NodeReader::read_block(const Item& item, const Block& outer) {
  if (outer.depth == kMaxBlockDepth) {
    c_.reader.problem(*item.nodes, cat("more than ", kMaxBlockDepth, " blocks inside each other"));
    return;
  }
  Block block;
  block.depth = outer.depth + 1;
  block.device = merged_device(item.device, item.device_position, outer.device);
  block.scope = item.scope.empty() ? outer.scope : full_name(item.scope, outer.scope);
  if (!item.scope.empty()) check_name(item.scope, c_.reader.position_of(item.scope));
  size_t after = c_.reader.position();
  c_.reader.seek(*item.nodes);
  read_list(block);
  c_.reader.seek(after);
}

bool NodeReader::check_name(std::string_view name, size_t position) {
  size_t bad = first_bad_character(name);
  if (bad == std::string_view::npos) return true;
  c_.reader.problem(position, bad_name_message(name, bad), std::string(kNameRule));
  return false;
}

std::string_view NodeReader::full_name(std::string_view name, std::string_view scope) {
  if (scope.empty()) return name;
  return builder_.graph().keep(cat(scope, "/", name));
}

uint32_t NodeReader::op_id(std::string_view op) {
  if (op != last_op_) {
    last_op_id_ = builder_.graph().intern(op);
    last_op_ = builder_.graph().text(last_op_id_);
  }
  return last_op_id_;
}

uint32_t NodeReader::device_id(std::string_view device, size_t position, const Block& block) {
  if (!block.device.empty()) device = merged_device(device, position, block.device);
  if (device != last_device_) {
    last_device_id_ = builder_.graph().intern(device);
    last_device_ = builder_.graph().text(last_device_id_);
  }
  return last_device_id_;
}

// As `with tf.device(outer): with tf.device(device):`: every field that `device` names replaces the outer one. A
// request that does not parse stays as it is: placement has TensorFlow's words for it.
std::string_view NodeReader::merged_device(std::string_view device, size_t position, std::string_view outer) {
  if (outer.empty()) return device;
  if (device.empty()) return outer;
  auto merged = DeviceName::parse(outer);
  auto inner = DeviceName::parse(device);
  if (!merged) {
    c_.reader.problem(position,
                      cat("device '", device, "' inside a block whose device '", outer, "' is not a device name"));
    return device;
  }
  if (!inner) return device;
  merged->ensure_specification(*inner);
  Graph& g = builder_.graph();
  return g.text(g.intern(merged->to_string()));
}

void NodeReader::incomplete_node(const Item& item, size_t position) {
  if (!item.told) c_.reader.problem(position, cat("a node without ", item.name.empty() ? "a name" : "an op"));
  literals_.clear();
  builder_.drop_inputs();
}

void NodeReader::add_node(Item& item, const Block& block, size_t position) {
  if (item.name.empty() || item.op.empty()) {
    return incomplete_node(item, position);
  }
  check_name(item.name, item.name_position);
  GraphBuilder::NewNode node;
  node.name = full_name(item.name, block.scope);
  node.position = static_cast<int64_t>(item.name_position);
  node.device = device_id(item.device, item.device_position, block);
  if (item.initial_value) return add_variable(item, block, node);
  node.op = op_id(item.op);
  if (item.attr) {
    size_t after = c_.reader.position();
    c_.reader.seek(*item.attr);
    item.attr_set = attrs_.read(node.op);
    c_.reader.seek(after);
  }
  node.attr_set = item.attr_set;
  if (!literals_.empty()) add_literals(node);
  NodeId place = builder_.add_node(node);
  if (place != kNoNode && !block.scope.empty() && node.attr_set != 0) builder_.add_scoped_class(place, block.scope);
}

// The Consts come before the node that reads them, as if the program had made them for it.
void NodeReader::add_literals(const GraphBuilder::NewNode& node) {
  auto consumer = static_cast<NodeId>(builder_.num_nodes() + literals_.size());
  for (InputLiteral& literal : literals_) {
    if (!literal.value) continue;
    GraphBuilder::NewNode constant;
    constant.name = builder_.graph().keep(literal_name(node, literal));
    constant.position = static_cast<int64_t>(literal.position);
    constant.op = builder_.graph().intern("Const");
    constant.device = node.device;
    NodeId place = builder_.add_source(constant);
    if (place == kNoNode) continue;
    builder_.set_input(literal.input, place);
    builder_.add_literal({place, consumer, literal.input, std::move(literal.value->value), literal.value->typed});
  }
  literals_.clear();
}

std::string NodeReader::literal_name(const GraphBuilder::NewNode& node, const InputLiteral& literal) const {
  const Graph& g = builder_.graph();
  const OpSignature* op = c_.signature(g.text(node.op));
  ArgumentPlace at;
  if (op) {
    at = argument_of_input(*op, Attrs(g.attr_sets_[node.attr_set]), static_cast<int>(builder_.num_inputs()),
                           static_cast<int>(literal.input));
  }
  if (at.argument < 0) return cat(node.name, "/input_", literal.input);
  const ArgSignature& arg = op->inputs[static_cast<size_t>(at.argument)];
  bool sequence = arg.number_attr >= 0 || arg.type_list_attr >= 0;
  return sequence ? cat(node.name, "/", arg.name, "_", at.member) : cat(node.name, "/", arg.name);
}

std::vector<FileVariable> NodeReader::variables() const {
  std::vector<FileVariable> out = variables_;
  for (size_t i = 0; i < out.size(); ++i) {
    FileVariable& v = out[i];
    for (NodeId* id : {&v.variable, &v.assign, &v.read}) *id = builder_.new_id(*id);
    if (from_tensor_[i]) v.initial_value = builder_.graph().inputs(v.assign)[1];
  }
  return out;
}

}  // namespace emplace
