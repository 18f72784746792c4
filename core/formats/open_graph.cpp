#include "core/formats/open_graph.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "core/base/cat.h"
#include "core/formats/checkpoint/sstable.h"
#include "core/formats/proto/field_tables.h"
#include "core/graph/open_source.h"

namespace emplace {
namespace {

using proto::WireError;
using proto::WireReader;
using proto::WireType;

constexpr size_t kLookedAt = 4096;  // bytes that tell a text from a binary file

/// Files of other programs: how they begin or end, what they are, and how to get a graph.
struct Foreign {
  std::string_view ending, begins;
  size_t begins_at;
  std::string_view what;
};
constexpr std::string_view kKeras = "a Keras file holds layers, not a graph; write one with model.export(\"dir\")";
constexpr Foreign kForeign[] = {
    {".keras", "", 0, kKeras},
    {".h5", "\x89HDF", 0, kKeras},
    {".tflite", "TFL3", 4,
     "a TensorFlow Lite model has ops of its own; take the SavedModel or GraphDef that it was made of"},
    {".pt", "", 0, "a PyTorch file holds tensors and code, not a graph; write one with torch.onnx.export()"},
    {".pth", "", 0, "a PyTorch file holds tensors and code, not a graph; write one with torch.onnx.export()"},
    {".safetensors", "", 0, "a safetensors file holds tensors, not a graph; take the model that they belong to"},
    {".zip", "PK\x03\x04", 0, "an archive, not a graph; unpack it"},
    {".npy", "\x93NUMPY", 0, "an array, not a graph; --feed NAME=@FILE feeds it"},
};

Status refuse_foreign(const std::string& name, std::string_view text) {
  if (SsTable::recognises(text)) return invalid_argument(cat(name, ": a checkpoint, not a graph; --restore reads it"));
  for (const Foreign& f : kForeign) {
    const bool begins =
        !f.begins.empty() && text.size() > f.begins_at && text.substr(f.begins_at).starts_with(f.begins);
    if (begins || name.ends_with(f.ending)) return invalid_argument(cat(name, ": ", f.what));
  }
  return ok_status();
}

/// Text in another encoding, or packed: the JSON reader says what to do.
bool is_text_unlike_ours(std::string_view text) {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || text.starts_with("\x1f\x8b");
}

/// Bytes that no text has.
bool is_binary(std::string_view text) {
  text = text.substr(0, kLookedAt);
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\v') || byte == 0x7f;
  });
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '>';
  });
}

/// A NodeDef has an op, which is a word; a MetaInfoDef has a list of ops there, or nothing.
bool is_node(std::string_view message) {
  WireError error;
  bool op = false;
  for (WireReader reader(message, error); reader.next();) {
    if (reader.is(proto::number(proto::kNodeDefFields, "op"), WireType::kBytes)) op = is_word(reader.bytes());
  }
  return op;
}

/// A SavedModel has fields 1 and 2 only, a GraphDef or MetaGraph messages in 1; a model of ONNX numbers, texts, a graph
/// and operator sets.
bool is_onnx(const std::string& name, std::string_view bytes) {
  using proto::kOnnxModelFields;
  WireError error;
  bool first = true, versioned = false;
  for (WireReader reader(bytes, error); reader.next(); first = false) {
    if (first && reader.field() == 1 && reader.type() == WireType::kBytes) return false;
    if (reader.is(proto::number(kOnnxModelFields, "ir_version"), WireType::kVarint)) versioned = true;
    if (reader.is(proto::number(kOnnxModelFields, "graph"), WireType::kBytes) ||
        reader.is(proto::number(kOnnxModelFields, "opset_import"), WireType::kBytes))
      return true;
  }
  return name.ends_with(".onnx") && (versioned || bytes.empty() || error.failed());
}

GraphFormat binary_format(const std::string& name, std::string_view bytes) {
  if (is_onnx(name, bytes)) return GraphFormat::kOnnx;
  WireError error;
  WireReader first(bytes, error);
  if (first.next()) {
    if (first.is(1, WireType::kVarint)) return GraphFormat::kSavedModel;
    if (first.is(1, WireType::kBytes) && is_node(first.bytes())) return GraphFormat::kGraphDef;
    if (first.is(1, WireType::kBytes) && first.next() && first.is(2, WireType::kBytes) && !name.ends_with(".pb"))
      return GraphFormat::kMetaGraph;
  }
  if (name.ends_with(".meta")) return GraphFormat::kMetaGraph;
  if (name.ends_with("saved_model.pb")) return GraphFormat::kSavedModel;
  return GraphFormat::kGraphDef;
}

/// Behind white space and comments.
std::string_view first_of_text(std::string_view text) {
  for (;;) {
    const size_t at = text.find_first_not_of(" \t\r\n\f\v");
    if (at == std::string_view::npos) return {};
    text.remove_prefix(at);
    if (text.front() != '#') return text;
    const size_t line = text.find('\n');
    if (line == std::string_view::npos) return {};
    text.remove_prefix(line);
  }
}

/// By the first field of a protobuf text; nothing if it is none.
std::optional<GraphFormat> text_format(const std::string& name, std::string_view text) {
  const std::string_view all = text;
  text = first_of_text(text);
  const bool comments = all.find('#') < static_cast<size_t>(text.data() - all.data());
  size_t size = 0;
  while (size < text.size() && (std::isalnum(static_cast<unsigned char>(text[size])) || text[size] == '_')) ++size;
  const std::string_view field = text.substr(0, size);
  const std::string_view after = first_of_text(text.substr(size));
  const bool is_field =
      size > 0 && !after.empty() && (after.front() == '{' || after.front() == ':' || after.front() == '<');
  if (field == "saved_model_schema_version" || field == "meta_graphs") return GraphFormat::kSavedModel;
  if (is_field && proto::find_field(proto::Message::kGraphDef, field)) return GraphFormat::kGraphDef;
  if (is_field && proto::find_field(proto::Message::kMetaGraphDef, field)) return GraphFormat::kMetaGraph;
  const bool named = name.ends_with(".pbtxt") || name.ends_with(".prototxt") || name.ends_with(".textproto");
  if (is_field || named || (comments && text.empty())) return GraphFormat::kGraphDef;
  return std::nullopt;
}

bool is_folder(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// "DIR/saved_model.pb" or ".pbtxt".
Result<std::string> model_of_folder(const std::string& folder) {
  for (std::string_view file : {"saved_model.pb", "saved_model.pbtxt"}) {
    std::string path = cat(folder, folder.ends_with('/') ? "" : "/", file);
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return invalid_argument(cat(folder, ": a folder without saved_model.pb, so no SavedModel"));
}

}  // namespace

Result<std::shared_ptr<const Source>> open_graph(const std::string& path, std::optional<GraphFormat> wanted,
                                                 const std::vector<std::string>& tags) {
  std::string file = path;
  if (is_folder(path)) {
    ASSIGN_OR_RETURN(file, model_of_folder(path));
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Source> source, open_source(file, {.pipes = file == path}));
  const std::string_view text = source->text();
  if (wanted == GraphFormat::kJson || is_text_unlike_ours(text)) return source;
  const bool binary = is_binary(text);
  if (wanted && binary && *wanted != GraphFormat::kSavedModel && binary_format({}, text) == GraphFormat::kSavedModel)
    return invalid_argument(cat(source->name(), ": a SavedModel, not a ",
                                *wanted == GraphFormat::kGraphDef ? "GraphDef" : "MetaGraph", "; give its folder"));
  if (wanted && *wanted == GraphFormat::kOnnx && !binary && !text.empty())
    return invalid_argument(cat(source->name(), ": a text; a model of ONNX is binary"));
  if (wanted) return std::shared_ptr<const Source>(std::make_shared<ProtoSource>(source, *wanted, binary, tags));
  RETURN_IF_ERROR(refuse_foreign(source->name(), text));
  if (binary) {
    const GraphFormat format = binary_format(source->name(), text);
    return std::shared_ptr<const Source>(std::make_shared<ProtoSource>(source, format, true, tags));
  }
  if (text.empty() && file.ends_with(".onnx"))
    return std::shared_ptr<const Source>(std::make_shared<ProtoSource>(source, GraphFormat::kOnnx, true));
  if (text.empty() && (file.ends_with(".pb") || file.ends_with(".pbtxt")))
    return std::shared_ptr<const Source>(std::make_shared<ProtoSource>(source, GraphFormat::kGraphDef, false));
  if (std::optional<GraphFormat> format = text_format(source->name(), text))
    return std::shared_ptr<const Source>(std::make_shared<ProtoSource>(source, *format, false, tags));
  return source;
}

}  // namespace emplace
