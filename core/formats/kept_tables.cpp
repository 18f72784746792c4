#include "core/formats/kept_tables.h"

#include <algorithm>
#include <array>

#include "core/formats/message_nodes.h"
#include "core/formats/node_message.h"
#include "core/formats/proto/field_tables.h"

namespace emplace {
namespace {

using proto::kNodeDefFields;
using proto::number;
using proto::WireError;
using proto::WireReader;

/// The node with another op: all else stands as it was.
std::string with_op(const MessageNode& node, std::string_view op, WireError& error) {
  std::string out;
  proto::WireWriter writer(out);
  for (WireReader reader(node.bytes, error); reader.next();) {
    if (reader.field() == number(kNodeDefFields, "op")) {
      writer.bytes(number(kNodeDefFields, "op"), op);
    } else {
      out += reader.whole();
    }
  }
  return out;
}

}  // namespace

std::string_view op_of_kept_table(std::string_view op) {
  using Op = std::string_view;
  static constexpr std::array kMade{Op("HashTableV2"), Op("MutableHashTableV2"), Op("MutableHashTableOfTensorsV2"),
                                    Op("MutableDenseHashTableV2")};
  constexpr Op kWithoutName = "Anonymous", kVersion = "V2";
  if (!op.starts_with(kWithoutName)) return op;
  for (Op made : kMade) {
    if (op.substr(kWithoutName.size()) == made.substr(0, made.size() - kVersion.size())) return made;
  }
  return op;
}

Result<std::string> with_kept_tables(std::string_view graph) {
  WireError error;
  const MessageNodes nodes(graph, error);
  const bool any = std::any_of(nodes.all().begin(), nodes.all().end(),
                               [](const MessageNode& node) { return op_of_kept_table(node.op) != node.op; });
  if (!any) return std::string(graph);
  std::string out = with_nodes(
      graph,
      [&error](const MessageNode& node) {
        const std::string_view op = op_of_kept_table(node.op);
        return op == node.op ? std::string(node.bytes) : with_op(node, op, error);
      },
      {}, error);
  if (error.failed()) return invalid_argument(error.message).blamed(Blame::kFile);
  return out;
}

}  // namespace emplace
