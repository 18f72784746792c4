#include "core/formats/meta_graph.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/formats/main_graph.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"
#include "core/formats/tensor_message.h"

namespace emplace {
namespace {

using proto::number;
using proto::text_field;
using proto::WireError;
using proto::WireReader;
using proto::WireType;

constexpr std::string_view kInitOp = "__saved_model_init_op";

std::string_view node_of(std::string_view tensor) { return tensor.substr(0, tensor.rfind(':')); }

/// Calls `take` with the bytes of every field `field`.
template <class F>
void for_each_field(std::string_view message, uint32_t field, const F& take) {
  WireError ignored;
  for (WireReader reader(message, ignored); reader.next();) {
    if (reader.is(field, WireType::kBytes)) take(reader.bytes());
  }
}

/// Key and value of a map's entry.
std::pair<std::string, std::string_view> map_entry(std::string_view message) {
  std::pair<std::string, std::string_view> entry;
  for_each_field(message, 1, [&](std::string_view key) { entry.first = key; });
  for_each_field(message, 2, [&](std::string_view value) { entry.second = value; });
  return entry;
}

Shape shape_of_info(std::string_view message) {
  using proto::kTensorShapeProtoFields;
  WireError error;
  std::vector<int64_t> dims;
  for (WireReader reader(message, error); reader.next();) {
    if (reader.is(number(kTensorShapeProtoFields, "unknown_rank"), WireType::kVarint) && reader.number() != 0)
      return Shape::unknown();
    if (!reader.is(number(kTensorShapeProtoFields, "dim"), WireType::kBytes)) continue;
    int64_t size = 0;
    for (WireReader dim(reader.bytes(), error); dim.next();) {
      if (dim.is(number(proto::kTensorShapeProtoDimFields, "size"), WireType::kVarint))
        size = proto::as_int64(dim.number());
    }
    dims.push_back(std::max<int64_t>(size, -1));
    if (dims.size() > 254) return Shape::unknown();
  }
  return Shape(dims);
}

TensorInfo tensor_info(std::string_view message) {
  using proto::kTensorInfoFields;
  TensorInfo info;
  WireError error;
  for (WireReader reader(message, error); reader.next();) {
    if (reader.is(number(kTensorInfoFields, "name"), WireType::kBytes)) info.name = reader.bytes();
    if (reader.is(number(kTensorInfoFields, "dtype"), WireType::kVarint))
      info.dtype = dtype_from_number(proto::as_int32(reader.number())).value_or(DType::kInvalid);
    if (reader.is(number(kTensorInfoFields, "tensor_shape"), WireType::kBytes))
      info.shape = shape_of_info(reader.bytes());
  }
  return info;
}

class MetaGraphReader {
 public:
  MetaGraphReader(MetaGraph& out, Problems& problems) : out_(out), problems_(problems) {}

  void read(std::string_view meta_graph) {
    using proto::kMetaGraphDefFields;
    WireError error;
    for (WireReader reader(meta_graph, error); reader.next();) {
      if (reader.type() != WireType::kBytes) continue;
      switch (reader.field()) {
        case number(kMetaGraphDefFields, "meta_info_def"):
          for_each_field(reader.bytes(), number(proto::kMetaGraphDefMetaInfoDefFields, "tags"),
                         [&](std::string_view tag) { out_.tags.emplace_back(tag); });
          break;
        case number(kMetaGraphDefFields, "saver_def"):
          out_.restore_op = node_of(text_field(reader.bytes(), number(proto::kSaverDefFields, "restore_op_name")));
          out_.saver_filename = text_field(reader.bytes(), number(proto::kSaverDefFields, "filename_tensor_name"));
          break;
        case number(kMetaGraphDefFields, "collection_def"):
          read_collection(map_entry(reader.bytes()));
          break;
        case number(kMetaGraphDefFields, "signature_def"):
          read_signature(map_entry(reader.bytes()));
          break;
        case number(kMetaGraphDefFields, "object_graph_def"):
          out_.objects = ObjectGraph(reader.bytes());
          break;
        case number(kMetaGraphDefFields, "asset_file_def"):
          read_asset(reader.bytes(), out_.assets);
          break;
        default:
          break;
      }
    }
    if (!init_op_.empty()) out_.main_op = init_op_;
    if (out_.assets.empty()) out_.assets = std::move(collected_assets_);
    for (VariableInfo& v : out_.variables)
      v.trainable = std::find(trainable_.begin(), trainable_.end(), v.variable) != trainable_.end();
  }

 private:
  void read_collection(const std::pair<std::string, std::string_view>& entry) {
    const auto& [name, collection] = entry;
    if (name == "saved_model_assets") read_assets(collection);
    std::vector<std::string> nodes, bytes;
    for_each_field(collection, number(proto::kCollectionDefFields, "node_list"), [&](std::string_view list) {
      for_each_field(list, number(proto::kCollectionDefNodeListFields, "value"),
                     [&](std::string_view node) { nodes.emplace_back(node); });
    });
    for_each_field(collection, number(proto::kCollectionDefFields, "bytes_list"), [&](std::string_view list) {
      for_each_field(list, number(proto::kCollectionDefBytesListFields, "value"),
                     [&](std::string_view message) { bytes.emplace_back(message); });
    });
    if (name == "saved_model_main_op" || (name == "legacy_init_op" && out_.main_op.empty())) {
      if (!nodes.empty()) out_.main_op = node_of(nodes.front());
    } else if (name == "table_initializer") {
      for (const std::string& node : nodes) out_.table_initializers.emplace_back(node_of(node));
    } else if (name == "train_op") {
      out_.train_op = std::move(nodes);
    } else if (name == "losses" || name == "loss") {
      out_.losses.insert(out_.losses.end(), nodes.begin(), nodes.end());
    } else if (name == "variables") {
      for (const std::string& message : bytes) out_.variables.push_back(variable_info(message));
    } else if (name == "trainable_variables") {
      for (const std::string& message : bytes) trainable_.push_back(variable_info(message).variable);
    }
  }

  static VariableInfo variable_info(std::string_view message) {
    const std::string_view name = text_field(message, number(proto::kVariableDefFields, "variable_name"));
    const std::string_view initializer = text_field(message, number(proto::kVariableDefFields, "initializer_name"));
    return {std::string(node_of(name)), std::string(node_of(initializer))};
  }

  void read_signature(const std::pair<std::string, std::string_view>& entry) {
    using proto::kSignatureDefFields;
    Signature signature;
    WireError error;
    for (WireReader reader(entry.second, error); reader.next();) {
      if (reader.type() != WireType::kBytes) continue;
      if (reader.field() == number(kSignatureDefFields, "method_name")) {
        signature.method = reader.bytes();
        continue;
      }
      const auto [key, value] = map_entry(reader.bytes());
      if (reader.field() == number(kSignatureDefFields, "inputs")) {
        if (TensorInfo info = tensor_info(value); !info.name.empty()) signature.inputs[key] = std::move(info);
      } else if (reader.field() == number(kSignatureDefFields, "outputs")) {
        if (TensorInfo info = tensor_info(value); !info.name.empty()) signature.outputs[key] = std::move(info);
      } else if (reader.field() == number(kSignatureDefFields, "defaults")) {
        Result<Tensor> tensor = tensor_of_message(value);
        tensor.ok() ? static_cast<void>(signature.defaults[key] = tensor.take())
                    : problems_.add(kNoPosition, cat("signature '", entry.first, "', default of input '", key,
                                                     "': ", tensor.status().message()));
      }
    }
    if (entry.first != kInitOp) {
      out_.signatures[entry.first] = std::move(signature);
    } else if (!signature.outputs.empty()) {
      init_op_ = node_of(signature.outputs.begin()->second.name);
    }
  }

  /// Where old builders leave them: AssetFileDefs, each in an Any.
  void read_assets(std::string_view collection) {
    for_each_field(collection, number(proto::kCollectionDefFields, "any_list"), [&](std::string_view list) {
      for_each_field(list, number(proto::kCollectionDefAnyListFields, "value"), [&](std::string_view any) {
        read_asset(text_field(any, number(proto::kAnyFields, "value")), collected_assets_);
      });
    });
  }

  static void read_asset(std::string_view message, std::vector<std::pair<std::string, std::string>>& assets) {
    std::string tensor;
    for_each_field(message, number(proto::kAssetFileDefFields, "tensor_info"),
                   [&](std::string_view info) { tensor = tensor_info(info).name; });
    assets.emplace_back(std::move(tensor), text_field(message, number(proto::kAssetFileDefFields, "filename")));
  }

  MetaGraph& out_;
  Problems& problems_;
  std::string init_op_;
  std::vector<std::string> trainable_;
  std::vector<std::pair<std::string, std::string>> collected_assets_;
};

}  // namespace

std::optional<MetaGraph> read_meta_graph(const Source& file, Problems& problems) {
  const auto* source = dynamic_cast<const ProtoSource*>(&file);
  if (!source || source->format() == GraphFormat::kGraphDef || source->format() == GraphFormat::kOnnx)
    return std::nullopt;
  MetaGraph meta;
  MetaGraphReader(meta, problems).read(main_meta_graph(*source, problems));
  if (source->format() == GraphFormat::kSavedModel) {
    const size_t slash = source->name().rfind('/');
    meta.folder = slash == std::string::npos ? "." : source->name().substr(0, std::max<size_t>(slash, 1));
  }
  return meta;
}

std::string describe(const std::map<std::string, TensorInfo>& tensors) {
  std::string out;
  for (const auto& [key, info] : tensors)
    append(out, out.empty() ? "" : ", ", key, " ", dtype_name(info.dtype), " ", info.shape.to_string());
  return out;
}

std::string describe(const std::string& key, const Signature& signature) {
  const std::string inputs = describe(signature.inputs);
  std::string out = cat(key, " (", inputs, inputs.empty() ? "->" : " ->");
  std::string_view comma = " ";
  for (const auto& [output, info] : signature.outputs)
    append(out, std::exchange(comma, ", "), output, " ", dtype_name(info.dtype));
  return out + ")";
}

std::string describe(const std::map<std::string, Signature>& signatures) {
  std::string out;
  for (const auto& [key, signature] : signatures) append(out, out.empty() ? "" : ", ", describe(key, signature));
  return out;
}

}  // namespace emplace
