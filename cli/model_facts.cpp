#include "cli/model_facts.h"

#include <utility>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/formats/checkpoint/saver.h"
#include "core/formats/trainable.h"

namespace emplace {
namespace {

int64_t bytes_of(const TensorBundle::Entry& entry) {
  return entry.dtype == DType::kString ? entry.size
                                       : entry.shape.num_elements() * static_cast<int64_t>(dtype_size(entry.dtype));
}

Status read_variables_of(const GraphFile& file, ModelFacts& facts) {
  const auto saver = saver_of(file);
  if (saver.empty()) return ok_status();
  ASSIGN_OR_RETURN(std::optional<TensorBundle> bundle,
                   TensorBundle::find(cat(facts.meta.folder, "/variables/variables")));
  if (!bundle) return not_found(cat(facts.meta.folder, "/variables/variables.index: there is no such file"));
  const VariableNames fixed = not_trainable(&facts.meta, file);
  for (const auto& [variable, saved] : saver) {
    auto entry = bundle->entries().find(saved.key);
    if (entry == bundle->entries().end())
      return not_found(cat(facts.meta.folder, "/variables/variables.index: no tensor '", saved.key,
                           "', which variable '", variable, "' gets"));
    const std::optional<Shape> shape = saved.slice.shape_in(entry->second.shape);
    facts.variables.push_back({variable, entry->second.dtype, shape.value_or(entry->second.shape),
                               bytes_of(entry->second), !fixed.contains(variable)});
  }
  return ok_status();
}

/// An open dimension is -1; a shape of which nothing is known, null.
void write_dims(JsonWriter& json, const Shape& shape) {
  json.key("shape");
  if (!shape.rank_known()) return static_cast<void>(json.null());
  json.begin_array();
  for (int64_t size : shape.dims()) json.value(size);
  json.end_array();
}

void write_tensors(JsonWriter& json, std::string_view key, const std::map<std::string, TensorInfo>& tensors) {
  json.key(key).begin_object();
  for (const auto& [name, info] : tensors) {
    json.key(name).begin_object().compact().member("name", info.name).member("dtype", dtype_name(info.dtype));
    write_dims(json, info.shape);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

Result<std::optional<ModelFacts>> model_facts(const GraphFile& file, Problems& problems) {
  std::optional<MetaGraph> meta = read_meta_graph(*file.source, problems);
  if (!meta) return std::optional<ModelFacts>();
  ModelFacts facts{std::move(*meta), {}, {}};
  const bool saved_model = !facts.meta.folder.empty();
  facts.kind = graph_format_name(saved_model ? GraphFormat::kSavedModel : GraphFormat::kMetaGraph);
  if (saved_model) RETURN_IF_ERROR(read_variables_of(file, facts));
  return std::optional(std::move(facts));
}

std::string model_text(const ModelFacts& facts) {
  std::string out;
  std::string_view comma = "tags: ";
  for (const std::string& tag : facts.meta.tags) append(out, std::exchange(comma, ","), tag);
  if (!out.empty()) out += "\n";
  for (const auto& [key, signature] : facts.meta.signatures) append(out, "signature ", describe(key, signature), "\n");
  for (const ModelFacts::Variable& v : facts.variables)
    append(out, "variable ", v.name, " ", dtype_name(v.dtype), " ", v.shape.to_string(), " ", size_text(v.bytes), "\n");
  for (const auto& [tensor, file] : facts.meta.assets) append(out, "asset ", file, "\n");
  return out;
}

void write_model(JsonWriter& json, const ModelFacts& facts) {
  json.member("kind", facts.kind).key("tags").begin_array();
  for (const std::string& tag : facts.meta.tags) json.value(tag);
  json.end_array().key("signatures").begin_object();
  for (const auto& [key, signature] : facts.meta.signatures) {
    json.key(key).begin_object();
    write_tensors(json, "inputs", signature.inputs);
    write_tensors(json, "outputs", signature.outputs);
    json.member("method", signature.method).end_object();
  }
  json.end_object().key("variables").begin_array();
  for (const ModelFacts::Variable& v : facts.variables) {
    json.begin_object().compact().member("name", v.name).member("dtype", dtype_name(v.dtype));
    write_dims(json, v.shape);
    json.member("bytes", v.bytes).member("trainable", v.trainable).end_object();
  }
  json.end_array().key("assets").begin_array();
  for (const auto& [tensor, file] : facts.meta.assets) json.value(file);
  json.end_array();
}

}  // namespace emplace
