#include "core/model_conversion.h"

#include <algorithm>
#include <array>

#include "core/base/cat.h"
#include "core/formats/freeze.h"
#include "core/formats/graph_part.h"
#include "core/formats/graph_writer.h"
#include "core/formats/library_cut.h"
#include "core/formats/message_nodes.h"
#include "core/op/trait_table.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

using Values = std::map<std::string, Tensor, std::less<>>;

std::string tensor_text(const Graph& g, Endpoint e) { return cat(g.name(e.node), ":", e.slot); }

/// What the variables hold when a run of `fetches` begins.
Result<Values> initial_values(const StageContext& c, const std::vector<std::string>& fetches) {
  StageContext run(c.options, c.path, c.log, c.stop);
  run.options.run.fetch = fetches;
  run.options.run.fetch_keys.clear();
  run.options.functions.mode = FunctionMode::kAuto;
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(run));
  ASSIGN_OR_RETURN(const Runnable runnable, validate_run(run, loaded));
  ASSIGN_OR_RETURN(const Placed placed, place_to_run(run, runnable));
  ASSIGN_OR_RETURN(const Partitioned partitioned, partition_graph(run, placed));
  RETURN_IF_ERROR(partitioned.verdict);
  ASSIGN_OR_RETURN(const Planned planned, plan_run(run, partitioned, runnable.request));
  RETURN_IF_ERROR(start_state(run, planned, runnable.request));
  Values values;
  const Graph& g = planned.file->graph;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).variable) continue;
    Result<Tensor> value = planned.session->variable(id);
    if (value.ok()) values.emplace(g.name(id), value.take());
  }
  return values;
}

/// The signature that a SavedModel gets if its graph had none: its placeholders, and what is fetched.
Signature signature_of(const Graph& g, std::string_view message, const std::vector<Fetch>& fetches) {
  Signature made;
  made.method = "tensorflow/serving/predict";
  const auto info = [&](Endpoint e) {
    return TensorInfo{tensor_text(g, e), base_type(g.output_type(e)), g.output_shape(e)};
  };
  proto::WireError ignored;
  const MessageNodes nodes(message, ignored);
  for (const MessageNode& node : nodes.all()) {
    const NodeId id = traits_of(node.op).placeholder ? g.find(node.name) : kNoNode;
    if (id != kNoNode) made.inputs[std::string(node.name)] = info({id, 0});
  }
  for (const Fetch& fetch : fetches) {
    std::string key = fetch.name.ends_with(":0") ? fetch.name.substr(0, fetch.name.size() - 2) : fetch.name;
    std::replace(key.begin(), key.end(), ':', '_');
    made.outputs[key] = info(fetch.tensor);
  }
  return made;
}

/// Variables of the graph, each with its value.
Result<std::vector<ModelVariable>> variables_of(std::string_view message, const Values& values) {
  std::vector<ModelVariable> variables;
  proto::WireError ignored;
  const MessageNodes nodes(message, ignored);
  for (const MessageNode& node : nodes.all()) {
    if (!traits_of(node.op).variable) continue;
    auto value = values.find(node.name);
    if (value == values.end())
      return invalid_argument(cat("variable '", node.name, "' has no value")).blamed(Blame::kFile);
    variables.push_back({std::string(node.name), value->second});
  }
  return variables;
}

/// The graph's own message, or that of the graph with its functions inlined.
Result<std::string> message_of(const GraphMessage& graph, const Validated& validated, FunctionMode mode) {
  if (mode != FunctionMode::kInline) return graph.bytes;
  Problems problems;
  GraphMessage made = read_graph_message(Source::from_text("", write_graph(*validated.file)), {}, problems);
  RETURN_IF_ERROR(first_problem(problems));
  return std::move(made.bytes);
}

}  // namespace

Result<ConvertedModel> convert_model(StageContext& c, const GraphMessage& graph, const ModelChange& change) {
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c));
  ASSIGN_OR_RETURN(Validated validated, validate_graph(c, loaded));
  const FunctionMode mode = c.options.functions.mode;
  if (mode == FunctionMode::kInline) {
    ASSIGN_OR_RETURN(validated, lower_graph(c, validated));
  }
  ASSIGN_OR_RETURN(const RunRequest request,
                   resolve_request(*validated.file, c.options.run, validated.gradients, c.found.problems));
  const Graph& g = validated.file->graph;
  ConvertedModel made;
  std::vector<std::string> names;
  for (const Fetch& fetch : request.fetches) made.outputs.push_back(tensor_text(g, fetch.tensor));
  ASSIGN_OR_RETURN(const std::string message, message_of(graph, validated, mode));
  const bool signed_ = c.model && c.model->signature;
  if (signed_) made.key = c.model->key, made.signature = *c.model->signature;
  ASSIGN_OR_RETURN(GraphPart part, part_of_graph(message, made.outputs, made.signature.inputs));
  for (auto& [key, info] : made.signature.inputs) {
    if (auto renamed = part.renamed.find(info.name); renamed != part.renamed.end()) info.name = renamed->second + ":0";
  }
  if (!signed_) made.key = "serving_default", made.signature = signature_of(g, part.bytes, request.fetches);
  Values values;
  if (change.freeze || change.with_values) {
    ASSIGN_OR_RETURN(values, initial_values(c, made.outputs));
  }
  if (change.freeze) {
    ASSIGN_OR_RETURN(Frozen frozen, freeze(part.bytes, values));
    part.bytes = std::move(frozen.bytes);
    made.left_over = std::move(frozen.left_over);
  }
  if (change.with_values) {
    ASSIGN_OR_RETURN(made.variables, variables_of(part.bytes, values));
  }
  proto::WireError error;
  made.graph = without_unused_functions(part.bytes, error);
  if (error.failed()) return invalid_argument(error.message).blamed(Blame::kFile);
  return made;
}

}  // namespace emplace
