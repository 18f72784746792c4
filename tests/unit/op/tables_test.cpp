// The compact tables say what TensorFlow's own registry says: every field of every op and kernel is compared with
// the JSON that they were made from.
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/op/op_table.h"
#include "core/op/table_text.h"
#include "tests/unit/source_dir.h"

using namespace emplace;
using nlohmann::json;

namespace {

std::string read_gz(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  std::string out;
  char buffer[1 << 16];
  int n = 0;
  while ((n = gzread(file, buffer, sizeof buffer)) > 0) out.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return out;
}

json registry(const std::string& name) {
  return json::parse(read_gz(source_dir() + "/tests/data/tensorflow/" + name + ".json.gz"));
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : kDigits[(group >> (18 - 6 * k)) & 63];
  }
  return out;
}

json to_json(float f) {
  if (std::isinf(f)) return f > 0 ? "Infinity" : "-Infinity";
  return f;
}

json to_json(const Shape& shape) {
  if (!shape.rank_known()) return {{"unknown_rank", true}};
  json out = json::object();
  for (int64_t d : shape.dims()) out["dim"].push_back({{"size", std::to_string(d)}});
  return out;
}

template <class T>
json list_json(const char* key, const AttrValue& value, auto item) {
  json out = {{"list", json::object()}};
  for (const auto& v : value.get<std::vector<T>>()) out["list"][key].push_back(item(v));
  return out;
}

// As protobuf's JSON mapping writes an AttrValue.
json to_json(const AttrValue& v) {
  if (v.type().list) {
    switch (v.type().kind) {
      case AttrKind::kString:
        return list_json<std::string>("s", v, [](const auto& s) { return base64(s); });
      case AttrKind::kInt:
        return list_json<int64_t>("i", v, [](int64_t i) { return std::to_string(i); });
      case AttrKind::kFloat:
        return list_json<float>("f", v, [](float f) { return to_json(f); });
      case AttrKind::kBool:
        return list_json<bool>("b", v, [](bool b) { return b; });
      case AttrKind::kType:
        return list_json<DType>("type", v, dtype_enum_name);
      case AttrKind::kShape:
        return list_json<Shape>("shape", v, [](const Shape& s) { return to_json(s); });
      default:
        return {{"list", json::object()}};
    }
  }
  switch (v.type().kind) {
    case AttrKind::kString:
      return {{"s", base64(v.get<std::string>())}};
    case AttrKind::kInt:
      return {{"i", std::to_string(v.get<int64_t>())}};
    case AttrKind::kFloat:
      return {{"f", to_json(v.get<float>())}};
    case AttrKind::kBool:
      return {{"b", v.get<bool>()}};
    case AttrKind::kType:
      return {{"type", dtype_enum_name(v.get<DType>())}};
    case AttrKind::kShape:
      return {{"shape", to_json(v.get<Shape>())}};
    case AttrKind::kTensor: {
      const Tensor& t = v.get<Tensor>();
      json tensor = {{"dtype", dtype_enum_name(t.dtype())}, {"tensor_shape", to_json(t.shape())}};
      for (uint8_t x : t.flat<uint8_t>()) tensor["int_val"].push_back(x);
      return {{"tensor", tensor}};
    }
    default:
      return {};
  }
}

json to_json(const ArgSignature& a, const OpSignature& op) {
  json out = {{"name", a.name}};
  auto attr_name = [&](int i) { return op.attrs[static_cast<size_t>(i)].name; };
  if (a.type != DType::kInvalid) out["type"] = dtype_enum_name(a.type);
  if (a.type_attr >= 0) out["type_attr"] = attr_name(a.type_attr);
  if (a.number_attr >= 0) out["number_attr"] = attr_name(a.number_attr);
  if (a.type_list_attr >= 0) out["type_list_attr"] = attr_name(a.type_list_attr);
  if (a.is_ref) out["is_ref"] = true;
  return out;
}

json to_json(const OpSignature& op) {
  json out = {{"name", op.name}};
  for (const auto& a : op.inputs) out["input_arg"].push_back(to_json(a, op));
  for (const auto& a : op.outputs) out["output_arg"].push_back(to_json(a, op));
  for (const AttrSignature& a : op.attrs) {
    json attr = {{"name", a.name}, {"type", attr_type_name(a.type)}};
    if (a.default_value) attr["default_value"] = to_json(*a.default_value);
    if (a.allowed_values) attr["allowed_values"] = to_json(*a.allowed_values);
    if (a.minimum) attr["has_minimum"] = true;
    if (a.minimum && *a.minimum != 0) attr["minimum"] = std::to_string(*a.minimum);
    out["attr"].push_back(attr);
  }
  if (op.is_stateful) out["is_stateful"] = true;
  if (op.is_aggregate) out["is_aggregate"] = true;
  if (op.is_commutative) out["is_commutative"] = true;
  if (op.allows_uninitialized_input) out["allows_uninitialized_input"] = true;
  if (op.is_distributed_communication) out["is_distributed_communication"] = true;
  if (op.deprecated_since) out["deprecation"] = {{"version", op.deprecated_since}, {"explanation", op.deprecation}};
  return out;
}

json to_json(const KernelSignature& k, const std::string& op) {
  json out = {{"op", op}, {"device_type", k.device_type}};
  if (!k.label.empty()) out["label"] = k.label;
  if (k.priority) out["priority"] = k.priority;
  for (const KernelConstraint& c : k.constraints) {
    out["constraint"].push_back({{"name", c.attr}, {"allowed_values", to_json(c.allowed_values)}});
  }
  for (const std::string& a : k.host_memory_args) out["host_memory_arg"].push_back(a);
  return out;
}

// Defaults that are floats went through float32, and full types are left out on purpose.
json simplified(json op) {
  if (op.contains("output_arg")) {
    for (json& arg : op["output_arg"]) arg.erase("experimental_full_type");
  }
  if (!op.contains("attr")) return op;
  for (json& attr : op["attr"]) {
    if (!attr.contains("default_value")) continue;
    json& value = attr["default_value"];
    if (value.contains("f") && value["f"].is_number()) value["f"] = value["f"].get<float>();
    if (value.contains("list") && value["list"].contains("f")) {
      for (json& f : value["list"]["f"]) f = f.get<float>();
    }
  }
  return op;
}

}  // namespace

TEST_CASE("the op table holds every op of TensorFlow 2.21 with all its fields") {
  OpTable table;
  json ops = registry("ops")["op"];
  CHECK(ops.size() == 1685);
  for (const json& op : ops) {
    const OpSignature* found = table.find(op["name"].get<std::string>());
    INFO(op.dump());
    REQUIRE(found != nullptr);
    REQUIRE(to_json(*found) == simplified(op));
  }
}

TEST_CASE("the kernel table holds every kernel of TensorFlow 2.21, in its order") {
  OpTable table;
  json kernels = registry("kernels")["kernel"];
  CHECK(kernels.size() == 15115);
  std::map<std::string, json> by_op;
  for (const json& k : kernels) by_op[k["op"].get<std::string>()].push_back(k);
  for (const auto& [op, want] : by_op) {
    const auto& found = table.kernels(op);
    INFO(op);
    REQUIRE(found.size() == want.size());
    for (size_t i = 0; i < found.size(); ++i) REQUIRE(to_json(found[i], op) == want[i]);
  }
}

TEST_CASE("the tables are sorted, and hold nothing but TensorFlow's kernels and older ops") {
  OpTable table;
  std::set<std::string> current;
  json ops = registry("ops")["op"];
  for (const json& op : ops) current.insert(op["name"].get<std::string>());
  std::string older = read_gz(source_dir() + "/tests/data/tensorflow/ops_1.15.pbtxt.gz");
  for (std::string_view text :
       {tensorflow_tables().ops, tensorflow_tables().kernels, extra_tables().ops, extra_tables().kernels}) {
    std::string_view last;
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(line.size() + 1);
      if (line.starts_with('#')) continue;
      std::string_view name = line.substr(0, line.find(' '));
      REQUIRE(last <= name);
      last = name;
    }
  }
  size_t from_older = 0, extra = 0;
  for (std::string_view name : table.names()) {
    if (current.contains(std::string(name))) continue;
    bool is_older = older.find("op {\n  name: \"" + std::string(name) + "\"") != std::string::npos;
    (is_older ? from_older : extra) += 1;
    CHECK(table.find(name) != nullptr);
    if (is_older) CHECK(table.kernels(name).empty());
  }
  CHECK(from_older == 25);
  CHECK(extra == 10);
}

TEST_CASE("an op that only an older TensorFlow has is read from its text form") {
  OpTable table;
  const OpSignature* op = table.find("BatchFFT2D");
  REQUIRE(op != nullptr);
  CHECK(op->deprecated_since == 15);
  REQUIRE(table.find("FusedDepthwiseConv2dNative") != nullptr);
  CHECK(table.kernels("Prelu").size() == 8);
  CHECK(table.find("Softma") == nullptr);
  CHECK(table.find("") == nullptr);
  CHECK(table.find("#") == nullptr);
  CHECK(table.find("zzz") == nullptr);
  CHECK(table.kernels("NoSuchOp").empty());
}

TEST_CASE("a kernel matches when every constraint holds its attr") {
  KernelSignature kernel;
  kernel.constraints.push_back({"T", AttrValue::list_of<DType>(AttrKind::kType, {DType::kFloat, DType::kInt32})});
  auto matches = [&](AttrValue v) {
    Attrs::Entry entry{"T", &v};
    auto result = kernel_matches(kernel, Attrs({&entry, 1}));
    return result.ok() ? std::string(*result ? "yes" : "no") : result.status().message();
  };
  CHECK(matches(AttrValue::of(DType::kFloat)) == "yes");
  CHECK(matches(AttrValue::of(DType::kDouble)) == "no");
  CHECK(matches(AttrValue::list_of<DType>(AttrKind::kType, {DType::kFloat, DType::kInt32})) == "yes");
  CHECK(matches(AttrValue::list_of<DType>(AttrKind::kType, {DType::kFloat, DType::kInt64})) == "no");
  CHECK(matches(AttrValue::list_of<DType>(AttrKind::kType, {})) == "yes");
  CHECK(matches(AttrValue({AttrKind::kNone, true}, {})) == "yes");
  CHECK(matches(AttrValue::of(int64_t{1})) == "attr 'T' is a int, the kernel's constraint is a list(type)");
  CHECK(kernel_matches(kernel, Attrs()).status().message() ==
        "the kernel has a constraint on attr 'T', which the node lacks");
}

TEST_CASE("a graph file can add ops and replace the kernels of one") {
  OpTable table;
  OpSignature op;
  op.name = "MyOp";
  CHECK(table.declare(op).ok());
  CHECK(table.declare(op).ok());
  REQUIRE(table.find("MyOp") != nullptr);
  op.attrs.push_back({"T", {AttrKind::kType, false}, {}, {}, {}});
  CHECK(table.declare(op).code() == Code::kAlreadyExists);
  CHECK(table.kernels("Relu").size() > 2);
  table.declare_kernel("Relu", {"CPU", "", 0, {}, {}});
  table.declare_kernel("Relu", {"GPU", "", 0, {}, {}});
  REQUIRE(table.kernels("Relu").size() == 2);
  CHECK(table.kernels("Relu")[1].device_type == "GPU");
}
