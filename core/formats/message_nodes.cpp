#include "core/formats/message_nodes.h"

#include <charconv>

#include "core/base/cat.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/wire_writer.h"

namespace emplace {
namespace {

using proto::kNodeDefFields;
using proto::number;
using proto::WireReader;
using proto::WireType;

MessageNode node_of_message(std::string_view bytes, proto::WireError& error) {
  MessageNode node;
  node.bytes = bytes;
  for (WireReader reader(bytes, error); reader.next();) {
    if (reader.is(number(kNodeDefFields, "name"), WireType::kBytes)) node.name = reader.bytes();
    if (reader.is(number(kNodeDefFields, "op"), WireType::kBytes)) node.op = reader.bytes();
    if (reader.is(number(kNodeDefFields, "input"), WireType::kBytes)) node.inputs.push_back(reader.bytes());
  }
  return node;
}

}  // namespace

InputName parse_input(std::string_view input) {
  if (input.starts_with('^')) return {input.substr(1), -1};
  const size_t colon = input.rfind(':');
  if (colon == input.npos) return {input, 0};
  int64_t slot = 0;
  std::from_chars(input.data() + colon + 1, input.data() + input.size(), slot);
  return {input.substr(0, colon), slot};
}

std::string input_text(const InputName& input) {
  if (input.slot < 0) return cat("^", input.node);
  return input.slot == 0 ? std::string(input.node) : cat(input.node, ":", input.slot);
}

MessageNodes::MessageNodes(std::string_view graph, proto::WireError& error) {
  for (WireReader reader(graph, error); reader.next();) {
    if (reader.is(number(proto::kGraphDefFields, "node"), WireType::kBytes))
      nodes_.push_back(node_of_message(reader.bytes(), error));
  }
  for (size_t i = 0; i < nodes_.size(); ++i) by_name_.emplace(nodes_[i].name, i);
}

const MessageNode* MessageNodes::find(std::string_view name) const {
  auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &nodes_[found->second];
}

std::string with_nodes(std::string_view graph, const std::function<std::string(const MessageNode&)>& changed,
                       const std::vector<std::string>& more, proto::WireError& error) {
  constexpr uint32_t kNode = number(proto::kGraphDefFields, "node");
  std::string nodes, rest;
  proto::WireWriter writer(nodes);
  for (WireReader reader(graph, error); reader.next();) {
    if (!reader.is(kNode, WireType::kBytes)) {
      rest += reader.whole();
    } else if (const std::string node = changed(node_of_message(reader.bytes(), error)); !node.empty()) {
      writer.bytes(kNode, node);
    }
  }
  for (const std::string& node : more) writer.bytes(kNode, node);
  return nodes + rest;
}

}  // namespace emplace
