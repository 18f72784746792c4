/// The nodes of a GraphDef in binary form, for those who change some and copy the rest as it stands.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/formats/proto/wire_reader.h"

namespace emplace {

/// A NodeDef; everything points into the message.
struct MessageNode {
  std::string_view bytes, name, op;
  std::vector<std::string_view> inputs;
};

/// "node:slot" or "node" of an input; "^node" is one of slot -1.
struct InputName {
  std::string_view node;
  int64_t slot = 0;
  bool operator==(const InputName&) const = default;
};
InputName parse_input(std::string_view input);
/// As a GraphDef has it.
std::string input_text(const InputName& input);

class MessageNodes {
 public:
  /// REQUIRES: `graph` outlives it.
  MessageNodes(std::string_view graph, proto::WireError& error);

  const std::vector<MessageNode>& all() const { return nodes_; }
  /// Null: there is none.
  const MessageNode* find(std::string_view name) const;
  size_t index_of(const MessageNode& node) const { return static_cast<size_t>(&node - nodes_.data()); }

 private:
  std::vector<MessageNode> nodes_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

/// The message with `changed` instead of each node: empty text leaves it out. `more`: nodes behind the last.
std::string with_nodes(std::string_view graph, const std::function<std::string(const MessageNode&)>& changed,
                       const std::vector<std::string>& more, proto::WireError& error);

}  // namespace emplace
