#include "core/formats/freeze.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "core/base/cat.h"
#include "core/formats/message_nodes.h"
#include "core/formats/node_message.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"
#include "core/op/op_table.h"
#include "core/op/trait_table.h"
#include "core/op/variable_reader.h"

namespace emplace {
namespace {

using proto::number;
using proto::WireError;
using proto::WireReader;
using proto::WireType;

/// Bytes of the entries of a node's attrs, by name.
std::map<std::string_view, std::string_view> attr_entries(const MessageNode& node) {
  std::map<std::string_view, std::string_view> out;
  WireError ignored;
  for (WireReader reader(node.bytes, ignored); reader.next();) {
    if (reader.is(number(proto::kNodeDefFields, "attr"), WireType::kBytes))
      out[proto::entry_key(reader.bytes())] = reader.bytes();
  }
  return out;
}

std::string_view device_of(const MessageNode& node) {
  return proto::text_field(node.bytes, number(proto::kNodeDefFields, "device"));
}

int64_t integer_attr(const MessageNode& node, std::string_view name) {
  int64_t value = 0;
  WireError ignored;
  const auto entries = attr_entries(node);
  auto found = entries.find(name);
  if (found == entries.end()) return 0;
  for (WireReader entry(found->second, ignored); entry.next();) {
    if (!entry.is(number(proto::kNodeDefAttrEntryFields, "value"), WireType::kBytes)) continue;
    for (WireReader attr(entry.bytes(), ignored); attr.next();) {
      if (attr.is(number(proto::kAttrValueFields, "i"), WireType::kVarint)) value = proto::as_int64(attr.number());
    }
  }
  return value;
}

/// What passes a handle on, and would pass the value on.
bool passes_on(std::string_view op) {
  const OpTraits& traits = traits_of(op);
  return traits.identity || traits.control != Control::kNone;
}

class Freezer {
 public:
  Freezer(std::string_view graph, const std::map<std::string, Tensor, std::less<>>& values)
      : graph_(graph), values_(values), nodes_(graph, error_) {}

  Result<Frozen> run() {
    find_readers();
    for (const MessageNode& node : nodes_.all()) {
      if (traits_of(node.op).variable) freeze_variable(node);
    }
    std::vector<std::string> axes;
    out_.bytes = with_nodes(
        graph_, [&](const MessageNode& node) { return changed(node, axes); }, {}, error_);
    out_.bytes = with_nodes(
        out_.bytes, [](const MessageNode& node) { return std::string(node.bytes); }, axes, error_);
    if (error_.failed()) return invalid_argument(error_.message);
    return std::move(out_);
  }

 private:
  struct Use {
    const MessageNode* node;
    size_t input;
    int64_t slot;
  };

  void find_readers() {
    for (const MessageNode& node : nodes_.all()) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const InputName name = parse_input(node.inputs[i]);
        if (name.slot >= 0) uses_[name.node].push_back({&node, i, name.slot});
      }
    }
  }

  void freeze_variable(const MessageNode& variable) {
    auto value = values_.find(variable.name);
    if (value == values_.end()) return keep(variable, "it has no value");
    const bool handle = gives_handle(ops_, variable.op);
    std::vector<const MessageNode*> way{&variable};
    for (size_t i = 0; i < way.size(); ++i) {
      for (const Use& use : uses_[way[i]->name]) {
        if (!is_value_of(*way[i], use)) continue;
        if (!may_read(use, handle))
          return keep(variable, cat("'", use.node->name, "' (", use.node->op, ") takes more than its value"));
        const bool on = handle && passes_on(use.node->op);
        if (on && std::find(way.begin(), way.end(), use.node) == way.end()) way.push_back(use.node);
      }
    }
    for (size_t i = 1; i < way.size(); ++i) {
      if (frozen_.contains(way[i]) || other_source(*way[i], way))
        return keep(variable, cat("'", way[i]->name, "' may also be another variable"));
    }
    for (const MessageNode* node : way) frozen_.emplace(node, &value->second);
    for (const MessageNode* node : way) mark_readers(*node, value->second);
    ++out_.variables;
  }

  void keep(const MessageNode& variable, std::string_view reason) {
    out_.left_over.push_back(cat(variable.name, ": ", reason));
  }

  /// Of what a node on the way gives, the handle or reference itself.
  static bool is_value_of(const MessageNode& node, const Use& use) {
    return traits_of(node.op).control != Control::kMerge || use.slot == 0;
  }

  /// Who takes a reference as a reference may write through it, who takes a handle may do anything.
  bool may_read(const Use& use, bool handle) {
    const std::string_view op = use.node->op;
    if (handle)
      return passes_on(op) ? use.input == 0 || traits_of(op).control == Control::kMerge
                           : variable_reader(op) && use.input == 0;
    const OpSignature* known = ops_.find(op);
    return known &&
           std::none_of(known->inputs.begin(), known->inputs.end(), [](const ArgSignature& a) { return a.is_ref; });
  }

  /// Does a Merge on the way take anything that is not?
  bool other_source(const MessageNode& node, const std::vector<const MessageNode*>& way) const {
    if (traits_of(node.op).control != Control::kMerge) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](std::string_view input) {
      const InputName name = parse_input(input);
      return name.slot >= 0 && std::find(way.begin(), way.end(), nodes_.find(name.node)) == way.end();
    });
  }

  void mark_readers(const MessageNode& node, const Tensor& value) {
    for (const Use& use : uses_[node.name]) {
      if (is_value_of(node, use) && variable_reader(use.node->op)) readers_.emplace(use.node, &value);
    }
  }

  std::string changed(const MessageNode& copy, std::vector<std::string>& more) const {
    const MessageNode& node = *nodes_.find(copy.name);
    if (auto value = readers_.find(&node); value != readers_.end()) return reader_of_tensor(node, *value->second, more);
    auto value = frozen_.find(&node);
    if (value == frozen_.end()) return std::string(node.bytes);
    if (traits_of(node.op).variable) return with_class(node, const_message(node.name, *value->second, device_of(node)));
    return with_type(node, value->second->dtype());
  }

  /// The colocation that a variable had holds for its constant.
  static std::string with_class(const MessageNode& node, std::string message) {
    const auto entries = attr_entries(node);
    if (auto found = entries.find("_class"); found != entries.end())
      proto::WireWriter(message).bytes(number(proto::kNodeDefFields, "attr"), found->second);
    return message;
  }

  /// The node with a tensor of that type where it had a handle.
  static std::string with_type(const MessageNode& node, DType type) {
    NodeMessage out(node.name, node.op, device_of(node));
    for (std::string_view input : node.inputs) out.input(input);
    for (const auto& [name, entry] : attr_entries(node)) {
      if (name != "T") out.entry(entry);
    }
    return out.type("T", type).take();
  }

  std::string reader_of_tensor(const MessageNode& node, const Tensor& value, std::vector<std::string>& more) const {
    const VariableReader& reader = *variable_reader(node.op);
    NodeMessage out(node.name, reader.of_tensor, device_of(node));
    const bool gathers = reader.axis;
    size_t data_inputs = 0;
    std::string axis;
    for (std::string_view input : node.inputs) {
      if (gathers && axis.empty() && data_inputs == 2) axis = add_axis(node, more), out.input(axis);
      out.input(input);
      data_inputs += input.starts_with('^') ? 0 : 1;
    }
    if (gathers && axis.empty()) out.input(add_axis(node, more));
    if (gathers) out.type("Taxis", DType::kInt32);
    for (const auto& [name, entry] : attr_entries(node)) {
      if (name != "dtype" && name != "validate_indices") out.entry(entry);
    }
    return out.type(reader.params, value.dtype()).take();
  }

  /// ResourceGather has no axis: it gathers behind the batch.
  std::string add_axis(const MessageNode& node, std::vector<std::string>& more) const {
    std::string name = cat(node.name, "/axis");
    while (nodes_.find(name)) name += '_';
    more.push_back(
        const_message(name, Tensor::scalar(static_cast<int32_t>(integer_attr(node, "batch_dims"))), device_of(node)));
    return name;
  }

  std::string_view graph_;
  const std::map<std::string, Tensor, std::less<>>& values_;
  WireError error_;
  MessageNodes nodes_;
  OpTable ops_;
  std::unordered_map<std::string_view, std::vector<Use>> uses_;
  std::unordered_map<const MessageNode*, const Tensor*> frozen_;   // what becomes a constant, or passes it on
  std::unordered_map<const MessageNode*, const Tensor*> readers_;  // whose op changes
  Frozen out_;
};

}  // namespace

Result<Frozen> freeze(std::string_view graph, const std::map<std::string, Tensor, std::less<>>& values) {
  return Freezer(graph, values).run();
}

}  // namespace emplace
