#include "core/formats/wire_nodes.h"

#include "core/base/cat.h"
#include "core/formats/kept_tables.h"
#include "core/formats/node_name.h"
#include "core/formats/proto/field_tables.h"

namespace emplace {

using proto::kNodeDefFields;
using proto::number;
using proto::WireReader;
using proto::WireType;

void WireNodes::read(std::string_view node) {
  Parts parts;
  entries_.clear();
  for (WireReader reader(node, w_.error); reader.next();) {
    if (reader.type() != WireType::kBytes) continue;
    switch (reader.field()) {
      case number(kNodeDefFields, "name"):
        parts.name = reader.bytes();
        builder_.announce(parts.name);
        break;
      case number(kNodeDefFields, "op"):
        parts.op = keeps_tables_ ? op_of_kept_table(reader.bytes()) : reader.bytes();
        break;
      case number(kNodeDefFields, "input"):
        read_input(reader.bytes(), reader.tag_at());
        break;
      case number(kNodeDefFields, "device"):
        parts.device = reader.bytes();
        break;
      case number(kNodeDefFields, "attr"):
        if (!parts.first_attr) parts.first_attr = reader.tag_at();
        if (parts.end_attrs && parts.end_attrs != reader.tag_at()) parts.attrs_together = false;
        parts.end_attrs = reader.end_at();
        entries_.push_back(reader.bytes());
        break;
      default:
        break;
    }
  }
  if (w_.sound()) return add(parts, node);
  builder_.drop_inputs();
}

void WireNodes::read_input(std::string_view input, const char* at) {
  if (!builder_.add_input(input, {})) {
    w_.problem(at, cat("input '", input, "' names no tensor"), "wanted 'node', 'node:1' or '^node'");
  } else if (!input.starts_with('^') && builder_.has_controls()) {
    w_.problem(at, "a data input after a control input", "control inputs come last");
  }
}

void WireNodes::add(const Parts& parts, std::string_view node) {
  if (parts.name.empty() || parts.op.empty()) {
    w_.problem(node.data(), cat("a node without ", parts.name.empty() ? "a name" : "an op"));
    return builder_.drop_inputs();
  }
  if (size_t bad = first_bad_character(parts.name); bad != std::string_view::npos)
    w_.problem(parts.name.data(), bad_name_message(parts.name, bad), std::string(kNameRule));
  Graph& g = builder_.graph();
  if (parts.op != last_op_) last_op_id_ = g.intern(parts.op), last_op_ = parts.op;
  if (parts.device != last_device_) last_device_id_ = g.intern(parts.device), last_device_ = parts.device;
  GraphBuilder::NewNode added;
  added.name = parts.name;
  added.position = w_.position_of(parts.name.data());
  added.op = last_op_id_;
  added.device = last_device_id_;
  const std::string_view region =
      parts.attrs_together && parts.first_attr
          ? std::string_view(parts.first_attr, static_cast<size_t>(parts.end_attrs - parts.first_attr))
          : std::string_view();
  added.attr_set = attrs_.read(last_op_id_, entries_, region);
  builder_.add_node(added);
}

}  // namespace emplace
