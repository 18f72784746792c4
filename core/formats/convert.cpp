#include "core/formats/convert.h"

#include <algorithm>
#include <iterator>

#include "core/formats/graph_writer.h"
#include "core/formats/library_writer.h"
#include "core/formats/main_graph.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/json_writer.h"
#include "core/formats/proto/message_fields.h"
#include "core/formats/proto/text_writer.h"
#include "core/formats/tensor_message.h"

namespace emplace {
namespace {

using proto::kNodeDefFields;
using proto::Message;
using proto::number;
using proto::WireError;
using proto::WireReader;
using proto::WireType;
using proto::WireWriter;

constexpr size_t kBesideFrom = 1024;  // bytes of a tensor, for --weights auto

/// False if the text uses a form of emplace's own (literals, short variables) that a GraphDef does not have.
bool read_as_message(std::string_view text, GraphMessage& out) {
  Problems ignored;
  TextArena arena;
  JsonReader reader(text, ignored, arena);
  WireWriter writer(out.bytes);
  proto::OtherKeys others;
  if (!proto::read_json(Message::kGraphDef, reader, writer, &others)) return false;
  reader.finish();
  static constexpr std::string_view kOwn[] = {"fetch", "target", "init",    "feed",   "config",
                                              "train", "data",   "cluster", "op_def", "kernel_def"};
  for (const auto& [key, value] : others) {
    if (std::find(std::begin(kOwn), std::end(kOwn), key) == std::end(kOwn)) return false;
    out.own_keys.emplace_back(key, std::string(value));
  }
  return ignored.empty();
}

std::string changed_node(std::string_view node, const ConvertOptions& options, WireError& error) {
  std::string out;
  WireWriter writer(out);
  const auto device = options.devices.find(proto::text_field(node, number(kNodeDefFields, "name")));
  for (WireReader reader(node, error); reader.next();) {
    if (reader.is(number(kNodeDefFields, "device"), WireType::kBytes) && device != options.devices.end()) continue;
    if (options.strip && reader.is(number(kNodeDefFields, "attr"), WireType::kBytes)) {
      const std::string_view key = proto::entry_key(reader.bytes());
      if (key.starts_with('_') && key != "_class") continue;
    }
    out += reader.whole();
  }
  if (device != options.devices.end()) writer.bytes(number(kNodeDefFields, "device"), device->second);
  return out;
}

/// The last value of the AttrValue's member `tensor`; empty if it is none.
std::string_view tensor_of(std::string_view attr) {
  WireError ignored;
  std::string_view tensor;
  for (WireReader reader(attr, ignored); reader.next();) {
    tensor =
        reader.is(number(proto::kAttrValueFields, "tensor"), WireType::kBytes) ? reader.bytes() : std::string_view();
  }
  return tensor;
}

/// Takes tensors out of a text, into a file beside it.
class WeightsBeside {
 public:
  WeightsBeside(WeightFiles where, std::string file, GraphText& out)
      : where_(where), file_(std::move(file)), out_(out) {}

  proto::WriteInstead writer() {
    if (where_ == WeightFiles::kInline) return {};
    return [this](JsonWriter& json, Message message, std::string_view bytes) {
      if (message == Message::kNodeDef) node_ = proto::text_field(bytes, number(kNodeDefFields, "name"));
      return message == Message::kAttrValue && write(json, tensor_of(bytes));
    };
  }

 private:
  bool write(JsonWriter& json, std::string_view tensor) {
    if (tensor.empty()) return false;
    Result<Tensor> value = tensor_of_message(tensor);
    if (!value.ok() || !value->raw() || value->dtype() == DType::kString) return false;
    if (where_ == WeightFiles::kAuto && value->size_bytes() < kBesideFrom) return false;
    json.begin_object().member("file", file_).member("key", node_).end_object();
    out_.weights.emplace_back(node_, value.take());
    return true;
  }

  WeightFiles where_;
  std::string file_;
  GraphText& out_;
  std::string node_;
};

}  // namespace

GraphMessage read_graph_message(std::shared_ptr<const Source> source, const LoadOptions& options, Problems& problems) {
  GraphMessage out;
  const auto proto = std::dynamic_pointer_cast<const ProtoSource>(source);
  const bool onnx = proto && proto->format() == GraphFormat::kOnnx;
  if (proto && !onnx) {
    for (const Problem& p : proto->text_problems().list()) problems.add(p.position, p.message, p.hint, p.code);
    if (problems.empty()) out.bytes = main_graph(*proto, problems);
    return out;
  }
  if (!onnx && read_as_message(source->text(), out)) return out;
  out = {};
  std::unique_ptr<GraphFile> file = load(source, options, problems);
  if (problems.empty()) validate(*file, problems);
  if (!problems.empty()) return out;
  std::string library;
  for (auto& [key, text] : file->declared_text) {
    if (key != "library") continue;
    library = library_message_json(text, file->library);
    text = library;
  }
  if (!read_as_message(write_graph(*file), out)) problems.add(kNoPosition, "this graph has no form as a GraphDef");
  return out;
}

std::string changed_graph(std::string_view graph, const ConvertOptions& options, WireError& error) {
  std::string out;
  WireWriter writer(out);
  for (WireReader reader(graph, error); reader.next();) {
    if (reader.is(number(proto::kGraphDefFields, "node"), WireType::kBytes)) {
      writer.bytes(reader.field(), changed_node(reader.bytes(), options, error));
    } else {
      out += reader.whole();
    }
  }
  return out;
}

GraphText write_graph_binary(const GraphMessage& graph, WireError& error) {
  GraphText out;
  out.unknown_fields = proto::compact_wire(Message::kGraphDef, graph.bytes, out.text, error);
  return out;
}

GraphText write_graph_text(const GraphMessage& graph, WireError& error) {
  GraphText out;
  proto::write_text(Message::kGraphDef, graph.bytes, out.text, error);
  return out;
}

GraphText write_graph_json(const GraphMessage& graph, WeightFiles weights, const std::string& weights_file,
                           WireError& error) {
  GraphText out;
  WeightsBeside beside(weights, weights_file, out);
  JsonWriter json(out.text, 2);
  json.begin_object();
  proto::write_json_members(json, Message::kGraphDef, graph.bytes, error, beside.writer());
  for (const auto& [key, value] : graph.own_keys) json.key(key).raw(value);
  json.end_object();
  out.text += '\n';
  return out;
}

}  // namespace emplace
