#include "core/formats/graph_cut.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/formats/graph_writer.h"
#include "core/formats/used_functions.h"
#include "core/tensor/json_elements.h"

namespace emplace {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// Larger values go into a file beside the graph.
constexpr int64_t kMostInline = 1024;

OrderedJson shape_json(const Shape& shape) {
  OrderedJson dims = OrderedJson::array();
  if (!shape.rank_known()) return {{"unknown_rank", true}};
  for (int64_t size : shape.dims()) dims.push_back({{"size", std::to_string(size)}});
  return {{"dim", dims}};
}

void change_shape(OrderedJson& shape, const std::map<int64_t, int64_t>& sizes) {
  if (!shape.contains("dim")) return;
  for (OrderedJson& dim : shape["dim"]) {
    const auto at = sizes.find(std::stoll(dim["size"].get<std::string>()));
    if (at != sizes.end()) dim["size"] = std::to_string(at->second);
  }
}

/// The dimensions of every shape in the attrs of a node.
void change_sizes(OrderedJson& attrs, const std::map<int64_t, int64_t>& sizes) {
  for (OrderedJson& value : attrs) {
    if (value.contains("shape")) change_shape(value["shape"], sizes);
    if (!value.contains("list") || !value["list"].contains("shape")) continue;
    for (OrderedJson& shape : value["list"]["shape"]) change_shape(shape, sizes);
  }
}

OrderedJson placeholder(const std::string& name, DType type, const Shape& shape) {
  OrderedJson node;
  node["name"] = name;
  node["op"] = "Placeholder";
  node["attr"] = {{"dtype", {{"type", dtype_enum_name(type)}}}, {"shape", {{"shape", shape_json(shape)}}}};
  return node;
}

/// Of a shape with open dimensions, these are 1.
Tensor zeros(DType type, const Shape& shape) {
  std::vector<int64_t> sizes;
  for (int d = 0; shape.rank_known() && d < shape.rank(); ++d) sizes.push_back(std::max<int64_t>(1, shape.dim(d)));
  Result<Tensor> made = Tensor::allocate(type, Shape(sizes));
  if (!made.ok()) return {};
  Tensor value = made.take();
  if (type != DType::kString && value.size_bytes() > 0) std::memset(value.raw(), 0, value.size_bytes());
  return value;
}

OrderedJson inline_value(const Tensor& value) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().member("dtype", dtype_name(value.dtype())).key("shape").begin_array();
  for (int64_t size : value.shape().dims()) json.value(size);
  json.end_array().key("data");
  write_json_elements(json, value);
  json.end_object();
  return OrderedJson::parse(text);
}

OrderedJson constant(const std::string& name, const Tensor& value) {
  OrderedJson node;
  node["name"] = name;
  node["op"] = "Const";
  node["attr"] = {{"dtype", {{"type", dtype_enum_name(value.dtype())}}}, {"value", inline_value(value)}};
  return node;
}

/// "n:1"; kNoNode if there is none.
Endpoint endpoint_of(const Graph& g, const std::string& tensor) {
  const size_t colon = tensor.find(':');
  const uint32_t slot = colon == std::string::npos ? 0 : static_cast<uint32_t>(std::stoul(tensor.substr(colon + 1)));
  return {g.find(tensor.substr(0, colon)), slot};
}

/// Of a tensor that is cut off.
Tensor cut_value(const CutRequest& request, const Graph& g, const Endpoint& e) {
  const Tensor value = request.value ? request.value(e) : Tensor();
  return value.valid() ? value : zeros(g.output_type(e), g.output_shape(e));
}

std::string tensor_text(const Graph& g, const Endpoint& e) {
  return e.slot == 0 ? std::string(g.name(e.node)) : cat(g.name(e.node), ':', e.slot);
}

std::string name_of_cut(const Graph& g, const Endpoint& e) {
  std::string name(g.name(e.node));
  if (e.slot == 0) return name;
  append(name, '_', e.slot);
  while (g.find(name) != kNoNode) name += '_';
  return name;
}

/// One cut.
class Cutting {
 public:
  Cutting(const GraphFile& file, const OrderedJson& whole, const CutRequest& request)
      : file_(file), g_(file.graph), whole_(whole), request_(request) {}

  CutGraph made() {
    for (NodeId id = 0; id < g_.num_nodes(); ++id) {
      if (request_.kept[id]) add_node(id);
    }
    keep_feeds();
    write();
    return std::move(made_);
  }

 private:
  bool keeps(const std::string& tensor) const {
    const NodeId node = endpoint_of(g_, tensor).node;
    return node != kNoNode && request_.kept[node];
  }

  void add_node(NodeId id) {
    OrderedJson node = whole_["node"][id];
    OrderedJson inputs = OrderedJson::array();
    for (const Endpoint& e : g_.inputs(id)) inputs.push_back(request_.kept[e.node] ? tensor_text(g_, e) : feed_cut(e));
    for (const Endpoint& e : g_.controls(id)) {
      if (request_.kept[e.node] && !request_.drop_controls) inputs.push_back(cat('^', g_.name(e.node)));
    }
    node.erase("input");
    if (!inputs.empty()) node["input"] = std::move(inputs);
    if (request_.drop_devices) node.erase("device");
    if (node.contains("attr")) change_attrs(id, node["attr"]);
    if (node.contains("attr") && node["attr"].empty()) node.erase("attr");
    nodes_.push_back(std::move(node));
  }

  void change_attrs(NodeId id, OrderedJson& attrs) {
    if (request_.drop_colocation) attrs.erase("_class");
    for (auto at = request_.drop_attrs.lower_bound({id, ""}); at != request_.drop_attrs.end() && at->first == id; ++at)
      attrs.erase(at->second);
    if (!request_.sizes.empty()) change_sizes(attrs, request_.sizes);
    if (!g_.traits(id).constant || !request_.changed) return;
    const Tensor& value = g_.attrs(id).tensor("value");
    const Tensor changed = request_.changed({id, 0}, value);
    if (!same_bytes(value, changed)) attrs["value"] = value_json(std::string(g_.name(id)), changed);
  }

  /// In the text, or in the file beside.
  OrderedJson value_json(const std::string& name, const Tensor& value) {
    if (value.num_elements() <= kMostInline || request_.values_file.empty()) return inline_value(value);
    made_.values.emplace_back(name, value);
    return {{"file", request_.values_file}, {"key", name}};
  }

  /// What stands for a tensor that is cut off.
  std::string feed_cut(const Endpoint& e) {
    std::string name = name_of_cut(g_, e);
    if (!fed_.insert(name).second) return name;
    Tensor value = cut_value(request_, g_, e);
    if (value.valid() && request_.changed) value = request_.changed(e, value);
    if (value.valid() && request_.as_constants) {
      nodes_.push_back(constant(name, value));
      return name;
    }
    nodes_.push_back(placeholder(name, g_.output_type(e), value.valid() ? value.shape() : g_.output_shape(e)));
    if (value.valid()) feed_[name] = value_json(name, value);
    return name;
  }

  /// The file's own.
  void keep_feeds() {
    for (const auto& [ref, value] : file_.feed) {
      if (!keeps(ref.name) || feed_.contains(ref.name)) continue;
      const Endpoint e = endpoint_of(g_, ref.name);
      const Tensor changed = request_.changed ? request_.changed(e, value) : value;
      if (request_.as_constants && g_.num_outputs(e.node) == 1)
        replace(constant(std::string(g_.name(e.node)), changed));
      else
        feed_[ref.name] = same_bytes(value, changed) ? whole_["feed"][ref.name] : value_json(ref.name, changed);
    }
  }

  void replace(OrderedJson node) {
    for (OrderedJson& one : nodes_) {
      if (one["name"] == node["name"]) one = std::move(node);
    }
  }

  /// The members beside `node`.
  OrderedJson members() const {
    static const std::set<std::string_view> kOfTheWhole = {"node", "feed", "fetch", "target", "init", "train", "data"};
    OrderedJson out = OrderedJson::object(), fetch = OrderedJson::array(), target = OrderedJson::array(),
                init = OrderedJson::array();
    for (const auto& [key, value] : whole_.items()) {
      if (kOfTheWhole.find(key) == kOfTheWhole.end()) out[key] = value;
    }
    if (out.contains("library")) keep_used_functions(nodes_, out);
    for (const NamedRef& ref : file_.init) {
      if (keeps(ref.name)) init.push_back(ref.name);
    }
    if (file_.has_init) out["init"] = std::move(init);
    if (!feed_.empty()) out["feed"] = feed_;
    for (const Endpoint& e : request_.fetch) fetch.push_back(tensor_text(g_, e));
    for (const NodeId node : request_.target) target.push_back(std::string(g_.name(node)));
    out["fetch"] = std::move(fetch);
    if (!target.empty()) out["target"] = std::move(target);
    return out;
  }

  /// A node a line.
  void write() {
    std::string& text = made_.text;
    text = "{\n  \"node\": [";
    for (size_t i = 0; i < nodes_.size(); ++i) append(text, i > 0 ? ",\n    " : "\n    ", nodes_[i].dump());
    text += "\n  ]";
    const OrderedJson rest = members();
    for (const auto& [key, value] : rest.items()) append(text, ",\n  \"", key, "\": ", value.dump());
    text += "\n}\n";
  }

  const GraphFile& file_;
  const Graph& g_;
  const OrderedJson& whole_;
  const CutRequest& request_;
  OrderedJson nodes_ = OrderedJson::array(), feed_ = OrderedJson::object();
  std::set<std::string> fed_;
  CutGraph made_;
};

}  // namespace

bool is_handle(DType type) { return is_ref(type) || type == DType::kResource || type == DType::kVariant; }

struct GraphCut::Document {
  OrderedJson whole;
};

GraphCut::GraphCut(const GraphFile& file)
    : file_(file),
      document_(std::make_unique<Document>(Document{OrderedJson::parse(write_graph(file))})),
      first_values_(file.graph.num_nodes()) {
  const Graph& g = file_.graph;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).assigns || g.inputs(id).empty()) continue;
    const NodeId variable = g.inputs(id)[0].node;
    if (g.traits(variable).variable) first_values_[variable].push_back(id);
  }
}

GraphCut::~GraphCut() = default;

void GraphCut::close(std::vector<char>& kept) const {
  const Graph& g = file_.graph;
  std::vector<NodeId> left;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (kept[id]) left.push_back(id);
  }
  const auto keep = [&](NodeId id) {
    if (!kept[id]) kept[id] = 1, left.push_back(id);
  };
  while (!left.empty()) {
    const NodeId id = left.back();
    left.pop_back();
    for (const Endpoint& e : g.inputs(id)) {
      if (is_handle(g.output_type(e))) keep(e.node);
    }
    for (const NodeId assign : first_values_[id]) keep(assign);
  }
}

std::vector<std::pair<Endpoint, Tensor>> GraphCut::values(const CutRequest& request) const {
  const Graph& g = file_.graph;
  std::vector<std::pair<Endpoint, Tensor>> found;
  std::set<std::pair<NodeId, uint32_t>> seen;
  const auto add = [&](const Endpoint& e, const Tensor& value) {
    if (value.valid() && seen.insert({e.node, e.slot}).second) found.emplace_back(e, value);
  };
  for (const auto& [ref, value] : file_.feed) {
    if (const Endpoint e = endpoint_of(g, ref.name); e.node != kNoNode && request.kept[e.node]) add(e, value);
  }
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!request.kept[id]) continue;
    if (g.traits(id).constant) add({id, 0}, g.attrs(id).tensor("value"));
    for (const Endpoint& e : g.inputs(id)) {
      if (!request.kept[e.node]) add(e, cut_value(request, g, e));
    }
  }
  return found;
}

CutGraph GraphCut::cut(const CutRequest& request) const { return Cutting(file_, document_->whole, request).made(); }

}  // namespace emplace
