/// A model of ONNX as its messages say it (onnx.proto): views into the file, in its order.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/formats/wire_context.h"

namespace emplace {

/// AttributeProto.AttributeType.
enum class OnnxAttributeType : uint8_t {
  kUndefined,
  kFloat,
  kInt,
  kString,
  kTensor,
  kGraph,
  kFloats,
  kInts,
  kStrings,
  kTensors,
  kGraphs,
};
std::string_view onnx_attribute_type_name(OnnxAttributeType type);

struct OnnxAttribute {
  std::string_view name;
  OnnxAttributeType type = OnnxAttributeType::kUndefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s, tensor, graph, of_type;  // the last three: messages
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::string_view of_function;  // in a function's body: the function's attribute whose value it has
  const char* at = nullptr;
};

struct OnnxNode {
  std::string_view op, domain = {}, name = {};
  std::vector<std::string_view> inputs = {}, outputs = {};  // empty: left out
  std::vector<OnnxAttribute> attributes = {};
  const char* at = nullptr;
};

/// What is said of a value before a run.
struct OnnxValueInfo {
  enum class Kind : uint8_t { kUnknown, kTensor, kSequence, kMap };
  std::string_view name;
  Kind kind = Kind::kUnknown;
  bool optional = false;         // there may be none
  DType type = DType::kInvalid;  // of a tensor, of the tensors in a sequence, or of a map's values
  DType key_type = DType::kInvalid;
  Shape shape = Shape::unknown();
  const char* at = nullptr;
};

/// A tensor's name and message.
struct OnnxInitializer {
  std::string_view name, message;
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxInitializer> initializers;
  std::vector<OnnxValueInfo> inputs, outputs, values;
};

using OnnxOpsets = std::map<std::string_view, int64_t>;  // domain -> version

struct OnnxFunction {
  std::string_view name, domain;
  std::vector<std::string_view> inputs, outputs;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxAttribute> defaults;
  OnnxOpsets opsets;
};

struct OnnxModel {
  int64_t ir_version = 0;
  OnnxOpsets opsets;
  OnnxGraph graph;
  std::map<std::pair<std::string_view, std::string_view>, OnnxFunction> functions;  // by domain and name
};

/// Nothing, and a problem told, if the bytes are wrong.
std::optional<OnnxModel> read_onnx_model(WireContext& w);
/// The graph of an attribute.
std::optional<OnnxGraph> read_onnx_graph(WireContext& w, std::string_view message);
/// The type of an attribute.
OnnxValueInfo read_onnx_type(WireContext& w, std::string_view message);

/// "ai.onnx" is the empty domain.
inline std::string_view onnx_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace emplace
