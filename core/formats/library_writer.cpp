#include "core/formats/library_writer.h"

#include "core/base/cat.h"
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
  json.end_array().key("attr").begin_object();
  for (const auto& [name, value] : g.attrs(id).entries()) write_attr_message(json.key(name), *value);
  json.end_object().end_object();
}

void write_arguments(JsonWriter& json, const char* key, const std::vector<ArgSignature>& arguments) {
  json.key(key).begin_array();
  for (const ArgSignature& a : arguments)
    json.begin_object().member("name", a.name).member("type", dtype_enum_name(a.type)).end_object();
  json.end_array();
}

void write_function(JsonWriter& json, const Function& f) {
  const Graph& g = *f.body;
  json.begin_object().key("signature").begin_object().member("name", f.signature.name);
  write_arguments(json, "inputArg", f.signature.inputs);
  write_arguments(json, "outputArg", f.signature.outputs);
  json.end_object().key("nodeDef").begin_array();
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).argument && !g.traits(id).result) write_body_node(json, g, id);
  }
  json.end_array().key("ret").begin_object();
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).result) continue;
    const auto index = static_cast<size_t>(g.attrs(id).integer("index"));
    json.member(f.signature.outputs[index].name, body_tensor(g, g.inputs(id)[0]));
  }
  json.end_object().end_object();
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

}  // namespace emplace
