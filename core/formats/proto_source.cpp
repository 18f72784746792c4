#include "core/formats/proto_source.h"

#include "core/base/cat.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"

namespace emplace {
namespace {

using proto::Message;
using proto::WireError;
using proto::WireReader;
using proto::WireType;

bool holds(std::string_view bytes, const char* at) { return at >= bytes.data() && at <= bytes.data() + bytes.size(); }

/// The last text of field `number`.
std::string_view text_of(std::string_view message, uint32_t number) {
  WireError ignored;
  std::string_view out;
  for (WireReader reader(message, ignored); reader.next();) {
    if (reader.is(number, WireType::kBytes)) out = reader.bytes();
  }
  return out;
}

/// As a message can show it.
std::string printable_name(std::string_view name) {
  std::string out(name.substr(0, 200));
  for (char& c : out) {
    if (static_cast<uint8_t>(c) < 0x20 || static_cast<uint8_t>(c) >= 0x7f) c = '?';
  }
  return out;
}

/// Appends the names of what holds the byte, from the outside in.
void describe(Message message, std::string_view bytes, const char* at, std::string& out, int depth) {
  WireError ignored;
  int64_t node = 0;
  for (WireReader reader(bytes, ignored); reader.next();) {
    const proto::Field* field = proto::find_field(message, reader.field());
    if (!field || field->kind != proto::Kind::kMessage || reader.type() != WireType::kBytes) continue;
    const Message inner = field->message();
    if (inner == Message::kNodeDef) ++node;
    if (!holds(reader.bytes(), at)) continue;
    const char* comma = out.empty() ? "" : ", ";
    if (inner == Message::kNodeDef) {
      append(out, comma, "node '",
             printable_name(text_of(reader.bytes(), proto::number(proto::kNodeDefFields, "name"))), "' (number ", node,
             ")");
    } else if (inner == Message::kNodeDefAttrEntry) {
      append(out, comma, "attr '", printable_name(proto::entry_key(reader.bytes())), "'");
    } else if (inner == Message::kFunctionDef) {
      append(out, comma, "function '",
             printable_name(text_of(text_of(reader.bytes(), proto::number(proto::kFunctionDefFields, "signature")),
                                    proto::number(proto::kOpDefFields, "name"))),
             "'");
    }
    if (depth < proto::kMaxDepth) describe(inner, reader.bytes(), at, out, depth + 1);
    return;
  }
}

}  // namespace

proto::Message message_of(GraphFormat format) {
  switch (format) {
    case GraphFormat::kMetaGraph:
      return Message::kMetaGraphDef;
    case GraphFormat::kSavedModel:
      return Message::kSavedModel;
    default:
      return Message::kGraphDef;
  }
}

ProtoSource::ProtoSource(std::shared_ptr<const Source> file, GraphFormat format, bool binary,
                         std::vector<std::string> tags)
    : file_(std::move(file)), format_(format), binary_(binary), tags_(std::move(tags)) {
  name_ = file_->name();
  text_ = file_->text();
  if (!binary) proto::read_text(message_of(format), text_, text_wire_, text_positions_, text_problems_);
  wire_ = binary ? text_ : std::string_view(text_wire_);
}

int64_t ProtoSource::position_of(const char* in_wire) const {
  if (!holds(wire_, in_wire)) return kNoPosition;
  const auto offset = static_cast<size_t>(in_wire - wire_.data());
  return static_cast<int64_t>(binary_ ? offset : text_positions_.of(offset));
}

std::string ProtoSource::context(size_t offset) const {
  std::string out;
  if (binary_ && offset <= wire_.size()) describe(message_of(format_), wire_, wire_.data() + offset, out, 0);
  return out;
}

}  // namespace emplace
