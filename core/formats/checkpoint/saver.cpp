#include "core/formats/checkpoint/saver.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "core/formats/meta_graph.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

constexpr int kMostCalls = 16;  // inside each other

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
const T* written(const Graph& g, NodeId node, std::string_view attr) {
  const AttrValue* value = Attrs(g.written_attrs(node)).find(attr);
  return value ? value->get_if<T>() : nullptr;
}

/// Element `index` of a constant of texts.
const std::string* text_of_constant(const Graph& g, Endpoint e, uint32_t index) {
  if (e.node == kNoNode || !traits_of(g.op(e.node)).constant) return nullptr;
  const Tensor* tensor = written<Tensor>(g, e.node, "value");
  if (!tensor || tensor->dtype() != DType::kString || index >= tensor->num_elements()) return nullptr;
  return tensor->data<std::string>() + index;
}

Endpoint behind_identities(const Graph& g, Endpoint e) {
  while (e.node != kNoNode && traits_of(g.op(e.node)).identity && !g.inputs(e.node).empty()) e = g.inputs(e.node)[0];
  return e;
}

/// What the value of an assignment is restored from; nothing if it comes from elsewhere.
std::optional<SavedTensor> restored_value(const Graph& g, Endpoint value) {
  value = behind_identities(g, value);
  if (value.node == kNoNode || !traits_of(g.op(value.node)).restores || g.inputs(value.node).size() < 3)
    return std::nullopt;
  const std::string* key = text_of_constant(g, g.inputs(value.node)[1], value.slot);
  const std::string* part = text_of_constant(g, g.inputs(value.node)[2], value.slot);
  if (!key || !part) return std::nullopt;
  std::optional<TensorSlice> slice = parse_slice(*part);
  if (!slice) return std::nullopt;
  return SavedTensor{*key, std::move(*slice)};
}

class SaverReader {
 public:
  explicit SaverReader(const GraphFile& file) : file_(file) {}

  using Names = std::vector<std::string>;
  /// `holders`: of a function, the variables and tables of the main graph that its arguments are; empty names:
  /// something else. Null: `g` is the main graph.
  void read(const Graph& g, const Names* holders, int depth) {
    for (NodeId id = 0; id < g.num_nodes(); ++id) {
      const std::string_view op = g.op(id);
      const auto inputs = g.inputs(id);
      if (traits_of(op).assigns && inputs.size() >= 2) {
        const std::string variable = holder_of(g, inputs[0], holders);
        if (variable.empty()) continue;
        if (auto restored = restored_value(g, inputs[1])) out_.insert_or_assign(variable, std::move(*restored));
      } else if (takes_restored(g, id)) {
        restores_more_ = true;
        read_table(g, inputs, holders);
      } else if (const Function* function = called(g, id); function && depth < kMostCalls) {
        Names arguments;
        for (Endpoint input : inputs) arguments.push_back(holder_of(g, input, holders));
        read(*function->body, &arguments, depth + 1);
      }
    }
  }

  /// Variables that no node restores, but that stand for one of `objects` which one restores: functions of the main
  /// graph get them behind their arguments (tensorflow/python/saved_model/load.py binds them so).
  void add_bound(const ObjectGraph& objects) {
    std::map<size_t, const SavedTensor*> by_object;
    for (const auto& [variable, saved] : out_) {
      if (const std::optional<size_t> object = objects.object(saved.key)) by_object.emplace(*object, &saved);
    }
    const Graph& g = file_.graph;
    for (NodeId id = 0; id < g.num_nodes() && !by_object.empty(); ++id) {
      const auto* f = traits_of(g.op(id)).functional == Functional::kCall ? written<FuncValue>(g, id, "f") : nullptr;
      const std::vector<size_t>* bound = f ? objects.bound_inputs(f->name) : nullptr;
      const auto inputs = g.inputs(id);
      if (!bound || bound->size() > inputs.size()) continue;
      for (size_t i = 0; i < bound->size(); ++i) {
        const std::string variable = holder_of(g, inputs[inputs.size() - bound->size() + i], nullptr);
        const auto saved = by_object.find((*bound)[i]);
        if (!variable.empty() && saved != by_object.end()) out_.emplace(variable, *saved->second);
      }
    }
  }

  std::map<std::string, SavedTensor, std::less<>> take() { return std::move(out_); }
  std::vector<SavedTable> take_tables() { return std::move(tables_); }
  bool restores_more() const { return restores_more_; }

 private:
  /// The function that a node calls, if it may restore something; else null.
  const Function* called(const Graph& g, NodeId id) const {
    const std::string_view op = g.op(id);
    std::string name(op);
    if (traits_of(op).functional == Functional::kCall) {
      const auto* f = written<FuncValue>(g, id, "f");
      if (!f) return nullptr;
      name = f->name;
    }
    auto found = file_.library.find(name);
    if (found == file_.library.end() || !found->second.body || !restores(*found->second.body)) return nullptr;
    return &found->second;
  }

  /// Does a node that only hands nothing on take what is read from a checkpoint?
  static bool takes_restored(const Graph& g, NodeId id) {
    if (traits_of(g.op(id)).identity) return false;
    const auto inputs = g.inputs(id);
    return std::any_of(inputs.begin(), inputs.end(), [&](Endpoint e) {
      e = behind_identities(g, e);
      return e.node != kNoNode && traits_of(g.op(e.node)).restores;
    });
  }

  /// May it, by its ops? Those of a model that only computes need not be gone through.
  static bool restores(const Graph& body) {
    for (NodeId id = 0; id < body.num_nodes(); ++id) {
      const OpTraits& traits = traits_of(body.op(id));
      if (traits.restores || traits.functional == Functional::kCall) return true;
    }
    return false;
  }

  /// A node that takes a table, keys and values, both restored.
  void read_table(const Graph& g, std::span<const Endpoint> inputs, const Names* holders) {
    if (inputs.size() != 3) return;
    std::string table = holder_of(g, inputs[0], holders);
    auto keys = restored_value(g, inputs[1]), values = restored_value(g, inputs[2]);
    if (table.empty() || !is_table(file_.graph, file_.graph.find(table)) || !keys || !values) return;
    tables_.push_back({std::move(table), std::move(*keys), std::move(*values)});
  }

  static bool is_table(const Graph& g, NodeId id) {
    return written<DType>(g, id, "key_dtype") && written<DType>(g, id, "value_dtype");
  }

  static std::string holder_of(const Graph& g, Endpoint e, const Names* holders) {
    e = behind_identities(g, e);
    if (e.node == kNoNode) return {};
    const std::string_view op = g.op(e.node);
    if (traits_of(op).argument) {
      const auto* index = written<int64_t>(g, e.node, "index");
      const bool known = index && holders && *index >= 0 && static_cast<size_t>(*index) < holders->size();
      return known ? (*holders)[static_cast<size_t>(*index)] : std::string();
    }
    const bool holds = traits_of(op).variable || is_table(g, e.node);
    return holds && !holders ? std::string(g.name(e.node)) : std::string();
  }

  const GraphFile& file_;
  std::map<std::string, SavedTensor, std::less<>> out_;
  std::vector<SavedTable> tables_;
  bool restores_more_ = false;
};

}  // namespace

std::map<std::string, SavedTensor, std::less<>> saver_of(const GraphFile& file) {
  SaverReader reader(file);
  reader.read(file.graph, nullptr, 0);
  Problems ignored;
  const std::optional<MetaGraph> meta = file.source ? read_meta_graph(*file.source, ignored) : std::nullopt;
  if (meta) reader.add_bound(meta->objects);
  return reader.take();
}

std::vector<SavedTable> saved_tables(const GraphFile& file) {
  SaverReader reader(file);
  reader.read(file.graph, nullptr, 0);
  return reader.take_tables();
}

bool restores_more_than_variables(const GraphFile& file) {
  SaverReader reader(file);
  reader.read(file.graph, nullptr, 0);
  return reader.restores_more();
}

std::optional<TensorSlice> parse_slice(std::string_view text) {
  TensorSlice slice;
  std::string_view parts = text.substr(text.rfind(' ') + 1);
  while (!parts.empty()) {
    const std::string_view part = parts.substr(0, parts.find(':'));
    parts.remove_prefix(std::min(part.size() + 1, parts.size()));
    if (part == "-") {
      slice.start.push_back(0), slice.length.push_back(-1);
      continue;
    }
    const size_t comma = part.find(',');
    const auto start = whole_number(part.substr(0, comma));
    const auto length = comma == part.npos ? std::nullopt : whole_number(part.substr(comma + 1));
    if (!start || !length) return std::nullopt;
    slice.start.push_back(*start), slice.length.push_back(*length);
  }
  return slice;
}

}  // namespace emplace
