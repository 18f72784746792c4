#include "core/formats/library_writer.h"

#include "core/base/cat.h"
#include "core/base/json_document.h"
#include "core/base/json_writer.h"
#include "core/formats/attr_writer.h"

namespace emplace {
namespace {

/// "arg" or "node:output:0".
std::string body_tensor(const Graph& g, Endpoint e) {
  const NodeType& type = g.type(e.node);
  if (type.traits->argument) return std::string(g.name(e.node));
  const uint16_t arg = type.output_args[e.slot];
  uint32_t first = e.slot;
  while (first > 0 && type.output_args[first - 1] == arg) --first;
  return cat(g.name(e.node), ":", type.signature->outputs[arg].name, ":", e.slot - first);
}

void write_body_node(JsonWriter& json, const Graph& g, NodeId id) {
  json.begin_object().member("name", g.name(id)).member("op", g.op(id)).key("input").begin_array();
  for (const Endpoint& e : g.inputs(id)) json.value(body_tensor(g, e));
  for (const Endpoint& e : g.controls(id)) json.value(cat("^", g.name(e.node)));
  json.end_array();
  if (const std::string_view device = g.requested_device(id); !device.empty()) json.member("device", device);
  json.key("attr").begin_object();
  for (const auto& [name, value] : g.attrs(id).entries()) write_attr_message(json.key(name), *value);
  json.end_object().end_object();
}

void write_arguments(JsonWriter& json, const char* key, const std::vector<ArgSignature>& arguments) {
  json.key(key).begin_array();
  for (const ArgSignature& a : arguments)
    json.begin_object().member("name", a.name).member("type", dtype_enum_name(a.type)).end_object();
  json.end_array();
}

void write_body(JsonWriter& json, const Function& f) {
  const Graph& g = *f.body;
  json.key("nodeDef").begin_array();
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).argument && !g.traits(id).result) write_body_node(json, g, id);
  }
  json.end_array().key("ret").begin_object();
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).result) continue;
    const auto index = static_cast<size_t>(g.attrs(id).integer("index"));
    json.member(f.signature.outputs[index].name, body_tensor(g, g.inputs(id)[0]));
  }
  json.end_object();
}

void write_function(JsonWriter& json, const Function& f) {
  json.begin_object().key("signature").begin_object().member("name", f.signature.name);
  write_arguments(json, "inputArg", f.signature.inputs);
  write_arguments(json, "outputArg", f.signature.outputs);
  write_body(json.end_object(), f);
  json.end_object();
}

/// The member of this name, in either spelling that protobuf's JSON has; null if there is none.
nlohmann::json* member(nlohmann::json& object, const char* name, const char* name_in_text) {
  for (const char* key : {name, name_in_text}) {
    if (const auto at = object.find(key); at != object.end()) return &*at;
  }
  return nullptr;
}

void spell_types(nlohmann::json* arguments, const std::vector<ArgSignature>& known) {
  for (size_t i = 0; arguments && i < arguments->size() && i < known.size(); ++i) {
    nlohmann::json& argument = (*arguments)[i];
    if (argument.contains("type")) argument["type"] = dtype_enum_name(known[i].type);
  }
}

}  // namespace

std::string library_json(const std::map<std::string, Function>& library) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("function").begin_array();
  for (const auto& [name, function] : library) write_function(json, function);
  json.end_array().end_object();
  return out;
}

std::string library_message_json(std::string_view written, const std::map<std::string, Function>& library) {
  Result<nlohmann::json> read = parse_json(written, "library");
  nlohmann::json* functions = read.ok() ? member(*read, "function", "function") : nullptr;
  if (!functions) return std::string(written);
  for (nlohmann::json& function : *functions) {
    nlohmann::json* signature = member(function, "signature", "signature");
    const auto known = signature ? library.find(text_at(*signature, "name")) : library.end();
    if (known == library.end() || !known->second.body) continue;
    spell_types(member(*signature, "inputArg", "input_arg"), known->second.signature.inputs);
    spell_types(member(*signature, "outputArg", "output_arg"), known->second.signature.outputs);
    for (const char* key : {"nodeDef", "node_def", "ret"}) function.erase(key);
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    write_body(json, known->second);
    json.end_object();
    function.update(nlohmann::json::parse(body));
  }
  return read->dump();
}

}  // namespace emplace
