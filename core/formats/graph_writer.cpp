#include "core/formats/graph_writer.h"

#include "core/base/base64.h"
#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/formats/attr_writer.h"
#include "core/tensor/json_elements.h"

namespace emplace {
namespace {

/// JSON without comments and white space between its tokens.
std::string compact_json(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      size_t end = i + 1;
      while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      out += text.substr(i, end + 1 - i);
      i = end;
    } else if (c == '/') {
      i = text[i + 1] == '/' ? text.find('\n', i) : text.find("*/", i) + 1;
    } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      out += c;
    }
  }
  return out;
}

std::string input_text(const Graph& g, Endpoint e) {
  return e.slot == 0 ? std::string(g.name(e.node)) : cat(g.name(e.node), ":", e.slot);
}

void write_node(JsonWriter& json, const Graph& g, NodeId id) {
  json.begin_object().compact().member("name", g.name(id)).member("op", g.op(id));
  if (g.node(id).num_inputs + g.node(id).num_controls > 0) {
    json.key("input").begin_array();
    for (const Endpoint& e : g.inputs(id)) json.value(input_text(g, e));
    for (const Endpoint& e : g.controls(id)) json.value(cat("^", g.name(e.node)));
    json.end_array();
  }
  if (!g.requested_device(id).empty()) json.member("device", g.requested_device(id));
  Attrs attrs = g.attrs(id);
  if (!attrs.entries().empty()) {
    json.key("attr").begin_object();
    for (const auto& [name, value] : attrs.entries()) write_attr_message(json.key(name), *value);
    json.end_object();
  }
  json.end_object();
}

/// As the graph's own nodes have them: what else a model calls them is not written.
void write_names(JsonWriter& json, std::string_view key, const std::vector<NamedRef>& names, const GraphFile& file) {
  json.key(key).begin_array().compact();
  for (const NamedRef& n : names) {
    const auto alias = file.signature_names.find(n.name);
    json.value(alias != file.signature_names.end() && file.graph.find(n.name) == kNoNode ? alias->second : n.name);
  }
  json.end_array();
}

void write_feeds(JsonWriter& json, const GraphFile& file) {
  json.key("feed").begin_object();
  for (const auto& [ref, value] : file.feed) {
    json.key(ref.name).begin_object().compact().member("dtype", dtype_name(value.dtype())).key("shape").begin_array();
    for (int64_t size : value.shape().dims()) json.value(size);
    json.end_array().key("data");
    write_json_elements(json, value);
    json.end_object();
  }
  json.end_object();
}

void write_versions(JsonWriter& json, const GraphFile& file) {
  json.key("versions").begin_object().compact();
  if (file.producer != 0) json.member("producer", file.producer);
  if (file.min_consumer != 0) json.member("min_consumer", file.min_consumer);
  if (!file.bad_consumers.empty()) {
    json.key("bad_consumers").begin_array();
    for (int version : file.bad_consumers) json.value(version);
    json.end_array();
  }
  json.end_object();
}

}  // namespace

std::string write_graph(const GraphFile& file) {
  constexpr size_t kNode = 128;  // bytes, about: a text that grows is copied, and its pages are new each time
  std::string out;
  out.reserve(file.graph.num_nodes() * kNode);
  JsonWriter json(out, 2);
  json.begin_object().key("node").begin_array();
  for (NodeId id = 0; id < file.graph.num_nodes(); ++id) write_node(json, file.graph, id);
  json.end_array();
  for (const auto& [key, text] : file.declared_text) json.key(key).raw(compact_json(text));
  if (file.has_init) write_names(json, "init", file.init, file);
  if (!file.target.empty()) write_names(json, "target", file.target, file);
  if (file.has_fetch) write_names(json, "fetch", file.fetch, file);
  if (!file.feed.empty()) write_feeds(json, file);
  if (!file.train_json.empty()) json.key("train").raw(compact_json(file.train_json));
  if (!file.data_json.empty()) json.key("data").raw(compact_json(file.data_json));
  if (file.producer != 0 || file.min_consumer != 0 || !file.bad_consumers.empty()) write_versions(json, file);
  json.end_object();
  out += '\n';
  return out;
}

}  // namespace emplace
