#include "core/formats/onnx/model.h"

#include <bit>
#include <iterator>

#include "core/base/cat.h"
#include "core/formats/onnx/tensor.h"
#include "core/formats/proto/field_tables.h"
#include "core/formats/proto/message_fields.h"

namespace emplace {
namespace {

using proto::number;
using proto::WireReader;
using proto::WireType;

OnnxAttribute onnx_attribute(WireContext& w, std::string_view message) {
  using proto::kOnnxAttributeFields;
  OnnxAttribute a;
  a.at = message.data();
  for (WireReader r(message, w.error); r.next();) {
    const bool bytes = r.type() == WireType::kBytes;
    const uint32_t field = r.field();
    if (field == number(kOnnxAttributeFields, "name") && bytes) a.name = r.bytes();
    if (field == number(kOnnxAttributeFields, "ref_attr_name") && bytes) a.of_function = r.bytes();
    if (field == number(kOnnxAttributeFields, "type") && !bytes)
      a.type = r.number() <= static_cast<uint64_t>(OnnxAttributeType::kGraphs)
                   ? static_cast<OnnxAttributeType>(r.number())
                   : OnnxAttributeType::kUndefined;
    if (field == number(kOnnxAttributeFields, "f") && !bytes)
      a.f = std::bit_cast<float>(static_cast<uint32_t>(r.number()));
    if (field == number(kOnnxAttributeFields, "i") && !bytes) a.i = proto::as_int64(r.number());
    if (field == number(kOnnxAttributeFields, "s") && bytes) a.s = r.bytes();
    if (field == number(kOnnxAttributeFields, "t") && bytes) a.tensor = r.bytes();
    if (field == number(kOnnxAttributeFields, "g") && bytes) a.graph = r.bytes();
    if (field == number(kOnnxAttributeFields, "tp") && bytes) a.of_type = r.bytes();
    if (field == number(kOnnxAttributeFields, "strings") && bytes) a.strings.push_back(r.bytes());
    if (field == number(kOnnxAttributeFields, "floats"))
      r.numbers(WireType::kFixed32,
                [&](uint64_t n) { a.floats.push_back(std::bit_cast<float>(static_cast<uint32_t>(n))); });
    if (field == number(kOnnxAttributeFields, "ints"))
      r.numbers(WireType::kVarint, [&](uint64_t n) { a.ints.push_back(proto::as_int64(n)); });
  }
  return a;
}

/// Files of before the field `type` say it by what they have.
void guess_type(OnnxAttribute& a) {
  if (a.type != OnnxAttributeType::kUndefined) return;
  if (!a.tensor.empty()) a.type = OnnxAttributeType::kTensor;
  if (!a.graph.empty()) a.type = OnnxAttributeType::kGraph;
  if (!a.ints.empty()) a.type = OnnxAttributeType::kInts;
  if (!a.floats.empty()) a.type = OnnxAttributeType::kFloats;
  if (!a.strings.empty()) a.type = OnnxAttributeType::kStrings;
  if (!a.s.empty()) a.type = OnnxAttributeType::kString;
  if (a.f != 0) a.type = OnnxAttributeType::kFloat;
  if (a.i != 0) a.type = OnnxAttributeType::kInt;
}

OnnxNode onnx_node(WireContext& w, std::string_view message) {
  using proto::kOnnxNodeFields;
  OnnxNode n;
  n.at = message.data();
  for (WireReader r(message, w.error); r.next();) {
    if (r.type() != WireType::kBytes) continue;
    switch (r.field()) {
      case number(kOnnxNodeFields, "input"):
        n.inputs.push_back(r.bytes());
        break;
      case number(kOnnxNodeFields, "output"):
        n.outputs.push_back(r.bytes());
        break;
      case number(kOnnxNodeFields, "name"):
        n.name = r.bytes();
        break;
      case number(kOnnxNodeFields, "op_type"):
        n.op = r.bytes();
        break;
      case number(kOnnxNodeFields, "domain"):
        n.domain = onnx_domain(r.bytes());
        break;
      case number(kOnnxNodeFields, "attribute"):
        n.attributes.push_back(onnx_attribute(w, r.bytes()));
        guess_type(n.attributes.back());
        break;
      default:
        break;
    }
  }
  return n;
}

Shape onnx_shape(WireContext& w, std::string_view message) {
  std::vector<int64_t> dims;
  for (WireReader r(message, w.error); r.next();) {
    if (!r.is(number(proto::kOnnxShapeFields, "dim"), WireType::kBytes)) continue;
    int64_t size = -1;
    for (WireReader dim(r.bytes(), w.error); dim.next();) {
      if (dim.is(number(proto::kOnnxDimensionFields, "dim_value"), WireType::kVarint))
        size = proto::as_int64(dim.number());
    }
    dims.push_back(size < 0 ? -1 : size);
  }
  return dims.size() > static_cast<size_t>(kMaxRank) ? Shape::unknown() : Shape(dims);
}

constexpr uint32_t kMapType = 5;  // of TypeProto, a message of key_type (1), and of value_type (2), a TypeProto

void read_onnx_type(WireContext& w, std::string_view message, OnnxValueInfo& info, int depth);

void read_map_type(WireContext& w, std::string_view message, OnnxValueInfo& info, int depth) {
  for (WireReader r(message, w.error); r.next();) {
    if (r.is(1, WireType::kVarint)) info.key_type = onnx_dtype(proto::as_int64(r.number())).value_or(DType::kInvalid);
    if (r.is(2, WireType::kBytes) && depth < proto::kMaxDepth) read_onnx_type(w, r.bytes(), info, depth + 1);
  }
  info.kind = OnnxValueInfo::Kind::kMap;
  info.shape = Shape::unknown_dims(1);
}

void read_onnx_type(WireContext& w, std::string_view message, OnnxValueInfo& info, int depth) {
  using Kind = OnnxValueInfo::Kind;
  for (WireReader r(message, w.error); r.next();) {
    if (r.is(number(proto::kOnnxTypeFields, "tensor_type"), WireType::kBytes)) {
      if (info.kind == Kind::kUnknown) info.kind = Kind::kTensor;
      for (WireReader t(r.bytes(), w.error); t.next();) {
        if (t.is(number(proto::kOnnxTensorTypeFields, "elem_type"), WireType::kVarint))
          info.type = onnx_dtype(proto::as_int64(t.number())).value_or(DType::kInvalid);
        if (t.is(number(proto::kOnnxTensorTypeFields, "shape"), WireType::kBytes))
          info.shape = onnx_shape(w, t.bytes());
      }
      continue;
    }
    if (r.is(kMapType, WireType::kBytes)) {
      read_map_type(w, r.bytes(), info, depth);
      continue;
    }
    const bool sequence = r.is(number(proto::kOnnxTypeFields, "sequence_type"), WireType::kBytes);
    if (!sequence && !r.is(number(proto::kOnnxTypeFields, "optional_type"), WireType::kBytes)) continue;
    const std::string_view element = proto::text_field(r.bytes(), 1);
    if (depth < proto::kMaxDepth) read_onnx_type(w, element, info, depth + 1);
    if (sequence && info.kind != Kind::kTensor) info.type = DType::kInvalid;  // of sequences, or maps
    if (sequence) info.kind = Kind::kSequence;
    info.optional = !sequence;
  }
}

OnnxValueInfo onnx_value(WireContext& w, std::string_view message) {
  OnnxValueInfo info;
  info.at = message.data();
  for (WireReader r(message, w.error); r.next();) {
    if (r.is(number(proto::kOnnxValueInfoFields, "name"), WireType::kBytes)) info.name = r.bytes();
    if (r.is(number(proto::kOnnxValueInfoFields, "type"), WireType::kBytes)) read_onnx_type(w, r.bytes(), info, 0);
  }
  return info;
}

void add_onnx_opset(WireContext& w, std::string_view message, OnnxOpsets& opsets) {
  std::string_view domain;
  int64_t version = 0;
  for (WireReader r(message, w.error); r.next();) {
    if (r.is(number(proto::kOnnxOpsetFields, "domain"), WireType::kBytes)) domain = onnx_domain(r.bytes());
    if (r.is(number(proto::kOnnxOpsetFields, "version"), WireType::kVarint)) version = proto::as_int64(r.number());
  }
  opsets[domain] = version;
}

OnnxFunction onnx_function(WireContext& w, std::string_view message) {
  using proto::kOnnxFunctionFields;
  OnnxFunction f;
  for (WireReader r(message, w.error); r.next();) {
    if (r.type() != WireType::kBytes) continue;
    if (r.field() == number(kOnnxFunctionFields, "name")) f.name = r.bytes();
    if (r.field() == number(kOnnxFunctionFields, "domain")) f.domain = onnx_domain(r.bytes());
    if (r.field() == number(kOnnxFunctionFields, "input")) f.inputs.push_back(r.bytes());
    if (r.field() == number(kOnnxFunctionFields, "output")) f.outputs.push_back(r.bytes());
    if (r.field() == number(kOnnxFunctionFields, "node")) f.nodes.push_back(onnx_node(w, r.bytes()));
    if (r.field() == number(kOnnxFunctionFields, "opset_import")) add_onnx_opset(w, r.bytes(), f.opsets);
    if (r.field() == number(kOnnxFunctionFields, "attribute_proto")) f.defaults.push_back(onnx_attribute(w, r.bytes()));
  }
  return f;
}

OnnxGraph onnx_graph(WireContext& w, std::string_view message) {
  using proto::kOnnxGraphFields;
  OnnxGraph g;
  for (WireReader r(message, w.error); r.next();) {
    if (r.type() != WireType::kBytes) continue;
    switch (r.field()) {
      case number(kOnnxGraphFields, "node"):
        g.nodes.push_back(onnx_node(w, r.bytes()));
        break;
      case number(kOnnxGraphFields, "initializer"):
        g.initializers.push_back({proto::text_field(r.bytes(), number(proto::kOnnxTensorFields, "name")), r.bytes()});
        break;
      case number(kOnnxGraphFields, "input"):
        g.inputs.push_back(onnx_value(w, r.bytes()));
        break;
      case number(kOnnxGraphFields, "output"):
        g.outputs.push_back(onnx_value(w, r.bytes()));
        break;
      case number(kOnnxGraphFields, "value_info"):
        g.values.push_back(onnx_value(w, r.bytes()));
        break;
      case number(kOnnxGraphFields, "sparse_initializer"):
        w.problem(r.tag_at(), "a sparse initializer, which is not read");
        break;
      default:
        break;
    }
  }
  return g;
}

}  // namespace

std::string_view onnx_attribute_type_name(OnnxAttributeType type) {
  static constexpr std::string_view kNames[] = {"UNDEFINED", "FLOAT", "INT",     "STRING",  "TENSOR", "GRAPH",
                                                "FLOATS",    "INTS",  "STRINGS", "TENSORS", "GRAPHS"};
  return kNames[static_cast<size_t>(type)];
}

OnnxValueInfo read_onnx_type(WireContext& w, std::string_view message) {
  OnnxValueInfo info;
  info.at = message.data();
  read_onnx_type(w, message, info, 0);
  return info;
}

std::optional<OnnxModel> read_onnx_model(WireContext& w) {
  using proto::kOnnxModelFields;
  OnnxModel m;
  const char* graph = nullptr;
  for (WireReader r(w.source.wire(), w.error); r.next();) {
    if (r.is(number(kOnnxModelFields, "ir_version"), WireType::kVarint)) m.ir_version = proto::as_int64(r.number());
    if (r.is(number(kOnnxModelFields, "opset_import"), WireType::kBytes)) add_onnx_opset(w, r.bytes(), m.opsets);
    if (r.is(number(kOnnxModelFields, "functions"), WireType::kBytes)) {
      OnnxFunction f = onnx_function(w, r.bytes());
      m.functions.insert_or_assign({f.domain, f.name}, std::move(f));
    }
    if (!r.is(number(kOnnxModelFields, "graph"), WireType::kBytes)) continue;
    if (graph) w.problem(r.tag_at(), "a second graph in one model");
    graph = r.tag_at();
    m.graph = onnx_graph(w, r.bytes());
  }
  if (!w.sound()) return std::nullopt;
  if (!graph) return w.problem(nullptr, "a model without a graph"), std::nullopt;
  return m;
}

std::optional<OnnxGraph> read_onnx_graph(WireContext& w, std::string_view message) {
  OnnxGraph g = onnx_graph(w, message);
  if (!w.sound()) return std::nullopt;
  return g;
}

}  // namespace emplace
