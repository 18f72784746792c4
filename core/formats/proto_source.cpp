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

/// As a message can show it.
std::string printable_name(std::string_view name) {
  std::string out(name.substr(0, 200));
  for (char& c : out) {
    if (static_cast<uint8_t>(c) < 0x20 || static_cast<uint8_t>(c) >= 0x7f) c = '?';
  }
  return out;
}

/// The last text of a field of that name.
std::string named_text(Message message, std::string_view bytes, std::string_view field) {
  const proto::Field* found = proto::find_field(message, field);
  return printable_name(found ? proto::text_field(bytes, found->number) : std::string_view());
}

/// "node 'conv1' (number 17)"; nothing of a message without a name. `number`: which node of its graph it is.
std::string description(Message message, std::string_view bytes, int64_t number) {
  switch (message) {
    case Message::kNodeDef:
      return cat("node '", named_text(message, bytes, "name"), "' (number ", number, ")");
    case Message::kNodeDefAttrEntry:
      return cat("attr '", printable_name(proto::entry_key(bytes)), "'");
    case Message::kFunctionDef:
      return cat("function '",
                 named_text(Message::kOpDef,
                            proto::text_field(bytes, proto::number(proto::kFunctionDefFields, "signature")), "name"),
                 "'");
    case Message::kOnnxNode: {
      const std::string name = named_text(message, bytes, "name"), op = named_text(message, bytes, "op_type");
      return name.empty() ? cat("node ", number, " (", op, ")")
                          : cat("node '", name, "' (", op, ", number ", number, ")");
    }
    case Message::kOnnxAttribute:
      return cat("attribute '", named_text(message, bytes, "name"), "'");
    case Message::kOnnxTensor:
      return cat("tensor '", named_text(message, bytes, "name"), "'");
    case Message::kOnnxValueInfo:
      return cat("value '", named_text(message, bytes, "name"), "'");
    case Message::kOnnxFunction:
      return cat("function '", named_text(message, bytes, "name"), "'");
    default:
      return {};
  }
}

/// Appends the names of what holds the byte, from the outside in.
void describe(Message message, std::string_view bytes, const char* at, std::string& out, int depth) {
  WireError ignored;
  int64_t node = 0;
  for (WireReader reader(bytes, ignored); reader.next();) {
    const proto::Field* field = proto::find_field(message, reader.field());
    if (!field || field->kind != proto::Kind::kMessage || reader.type() != WireType::kBytes) continue;
    const Message inner = field->message();
    if (inner == Message::kNodeDef || inner == Message::kOnnxNode) ++node;
    if (!holds(reader.bytes(), at)) continue;
    const std::string what = description(inner, reader.bytes(), node);
    if (!what.empty()) append(out, out.empty() ? "" : ", ", what);
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
    case GraphFormat::kOnnx:
      return Message::kOnnxModel;
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
