#include "core/train/bundle_checkpoint.h"

#include <charconv>
#include <map>

#include "core/formats/checkpoint/bundle.h"

namespace emplace {
namespace {

/// Under this key stands no tensor of the graph, but which object of a Python program has which.
constexpr std::string_view kObjects = "_CHECKPOINTABLE_OBJECT_GRAPH";

/// What a RestoreV2 node reads for one output.
struct Restored {
  std::string key;
  TensorSlice slice;
};

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "5 3 0,3:-": the sizes of the whole, then of each dimension where the part begins and how long it is, or all of it.
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

/// Element `index` of a constant of texts.
const std::string* text_of_constant(const Graph& g, Endpoint e, uint32_t index) {
  if (!g.traits(e.node).constant) return nullptr;
  const AttrValue* value = g.attrs(e.node).find("value");
  const Tensor* tensor = value ? value->get_if<Tensor>() : nullptr;
  if (!tensor || tensor->dtype() != DType::kString || index >= tensor->num_elements()) return nullptr;
  return tensor->data<std::string>() + index;
}

/// What the value of an assignment is restored from; nothing if it comes from elsewhere.
std::optional<Restored> restored_value(const Graph& g, Endpoint value) {
  while (g.traits(value.node).identity) value = g.inputs(value.node)[0];
  if (!g.traits(value.node).restores) return std::nullopt;
  const std::string* key = text_of_constant(g, g.inputs(value.node)[1], value.slot);
  const std::string* part = text_of_constant(g, g.inputs(value.node)[2], value.slot);
  if (!key || !part) return std::nullopt;
  std::optional<TensorSlice> slice = parse_slice(*part);
  if (!slice) return std::nullopt;
  return Restored{*key, std::move(*slice)};
}

/// Variables that the graph's saver assigns, by name.
std::map<std::string, Restored> saver_of(const Graph& g) {
  std::map<std::string, Restored> out;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).assigns) continue;
    if (auto restored = restored_value(g, g.inputs(id)[1]))
      out.insert_or_assign(std::string(g.name(g.inputs(id)[0].node)), std::move(*restored));
  }
  return out;
}

}  // namespace

Result<std::optional<Checkpoint>> load_bundle(const std::string& name, const Graph* graph) {
  ASSIGN_OR_RETURN(std::optional<TensorBundle> bundle, TensorBundle::find(name));
  if (!bundle) return std::optional<Checkpoint>();
  Checkpoint checkpoint;
  const std::map<std::string, Restored> saver = graph ? saver_of(*graph) : std::map<std::string, Restored>();
  for (const auto& [key, entry] : bundle->entries()) {
    if (key == kObjects || saver.contains(key)) continue;
    ASSIGN_OR_RETURN(Tensor value, bundle->read(key));
    checkpoint.variables.emplace_back(key, std::move(value));
  }
  for (const auto& [variable, restored] : saver) {
    if (!bundle->entries().contains(restored.key)) continue;
    ASSIGN_OR_RETURN(Tensor value, bundle->read(restored.key, restored.slice));
    checkpoint.variables.emplace_back(variable, std::move(value));
  }
  return std::optional(std::move(checkpoint));
}

}  // namespace emplace
