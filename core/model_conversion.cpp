#include "core/model_conversion.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/base/cat.h"
#include "core/formats/checkpoint/graph_checkpoints.h"
#include "core/formats/checkpoint/saver.h"
#include "core/formats/colocation_cut.h"
#include "core/formats/freeze.h"
#include "core/formats/graph_part.h"
#include "core/formats/graph_writer.h"
#include "core/formats/kept_tables.h"
#include "core/formats/library_cut.h"
#include "core/formats/message_nodes.h"
#include "core/formats/node_message.h"
#include "core/formats/state_holders.h"
#include "core/formats/table_fillers.h"
#include "core/formats/trainable.h"
#include "core/op/trait_table.h"
#include "core/pipeline.h"
#include "core/pipeline_stage.h"
#include "core/run_request.h"

namespace emplace {
namespace {

using NodeNames = std::set<std::string, std::less<>>;
using Values = std::map<std::string, Tensor, std::less<>>;

std::string tensor_text(const Graph& g, Endpoint e) { return cat(g.name(e.node), ":", e.slot); }

/// The variables of a graph.
std::vector<std::string> variable_names(std::string_view message) {
  std::vector<std::string> names;
  proto::WireError ignored;
  const MessageNodes nodes(message, ignored);
  for (const MessageNode& node : nodes.all()) {
    if (traits_of(node.op).variable) names.emplace_back(node.name);
  }
  return names;
}

/// What the checkpoint of a SavedModel has for them.
Result<Values> saved_values(const MetaGraph& meta, const GraphFile& file, const std::vector<std::string>& names) {
  const auto saver = saver_of(file);
  Values values;
  ASSIGN_OR_RETURN(std::optional<TensorBundle> bundle, TensorBundle::find(cat(meta.folder, "/variables/variables")));
  if (!bundle) return values;
  for (const std::string& name : names) {
    const auto saved = saver.find(name);
    if (saved == saver.end() || !bundle->entries().contains(saved->second.key)) continue;
    ASSIGN_OR_RETURN(Tensor value, bundle->read(saved->second.key, saved->second.slice));
    values.emplace(name, std::move(value));
  }
  return values;
}

struct BegunRun {
  StageContext context;
  Planned planned = {};
};

/// A run of `fetches` that is about to begin; `init`: after the nodes that run first.
Result<std::shared_ptr<const BegunRun>> begun_run(const StageContext& c, const std::vector<std::string>& fetches,
                                                  bool init) {
  auto made = std::make_shared<BegunRun>(BegunRun{StageContext(c.options, c.path, c.log, c.stop)});
  StageContext& run = made->context;
  run.options.run.fetch = fetches;
  run.options.run.fetch_keys.clear();
  run.options.functions.mode = FunctionMode::kAuto;
  ASSIGN_OR_RETURN(const Loaded loaded, load_graph(run));
  if (!init) loaded.file->init.clear();
  ASSIGN_OR_RETURN(const Runnable runnable, validate_run(run, loaded));
  ASSIGN_OR_RETURN(const Placed placed, place_to_run(run, runnable));
  ASSIGN_OR_RETURN(const Partitioned partitioned, partition_graph(run, placed));
  RETURN_IF_ERROR(partitioned.verdict);
  ASSIGN_OR_RETURN(made->planned, plan_run(run, partitioned, runnable.request));
  RETURN_IF_ERROR(start_state(run, made->planned, runnable.request));
  return std::shared_ptr<const BegunRun>(std::move(made));
}

Values values_in(const Planned& planned) {
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

/// Variables of the graph, each with its value; `every`: they need one.
Result<std::vector<ModelVariable>> variables_of(const std::vector<std::string>& names, const Values& values,
                                                const VariableNames& fixed, bool every) {
  std::vector<ModelVariable> variables;
  for (const std::string& name : names) {
    auto value = values.find(name);
    if (value == values.end() && !every) continue;
    if (value == values.end()) return invalid_argument(cat("variable '", name, "' has no value")).blamed(Blame::kFile);
    variables.push_back({name, value->second, !fixed.contains(name)});
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

class ModelConverter {
 public:
  ModelConverter(StageContext& context, const ModelChange& change) : c_(context), change_(change) {}

  Result<ConvertedModel> convert(const GraphMessage& graph) {
    ASSIGN_OR_RETURN(const Loaded loaded, load_graph(c_));
    ASSIGN_OR_RETURN(Validated validated, validate_graph(c_, loaded));
    const FunctionMode mode = c_.options.functions.mode;
    if (mode == FunctionMode::kInline) {
      ASSIGN_OR_RETURN(validated, lower_graph(c_, validated));
    }
    ASSIGN_OR_RETURN(std::string message, message_of(graph, validated, mode));
    if (change_.with_values && c_.model && !c_.model->meta.folder.empty()) {
      ASSIGN_OR_RETURN(message, with_kept_tables(message));
    }
    choose_main_op(message, *loaded.file);
    RETURN_IF_ERROR(choose_signatures(validated));
    RETURN_IF_ERROR(add_main_op(*loaded.file, message));
    RETURN_IF_ERROR(take_part(message));
    if (made_.signatures.empty())
      made_.signatures["serving_default"] = signature_of(validated.file->graph, made_.graph, fetches_);
    RETURN_IF_ERROR(take_values(*loaded.file));
    RETURN_IF_ERROR(take_tables(*loaded.file));
    proto::WireError error;
    made_.graph = without_lost_colocation(without_unused_functions(made_.graph, error), error);
    if (error.failed()) return invalid_argument(error.message).blamed(Blame::kFile);
    return std::move(made_);
  }

 private:
  /// The node that makes a SavedModel ready, if it does anything. Constants instead of variables are ready.
  void choose_main_op(std::string_view message, const GraphFile& file) {
    if (!c_.model || c_.model->meta.folder.empty() || !change_.with_values) return;
    const MetaGraph& meta = c_.model->meta;
    const bool fills = !holders_behind(file, {file.graph.find(meta.main_op)}).empty();
    if (change_.freeze && meta.assets.empty() && !fills) return;
    proto::WireError ignored;
    const MessageNodes nodes(message, ignored);
    const MessageNode* node = nodes.find(meta.main_op);
    if (!node || (node->inputs.empty() && traits_of(node->op).functional == Functional::kNone)) return;
    made_.main_op = meta.main_op;
    has_own_main_op_ = true;
    for (const std::string& name : holders_behind(file, {file.graph.find(meta.main_op)}))
      filled_by_main_op_.insert(name);
    for (const auto& asset : meta.assets) {
      if (nodes.find(parse_input(asset.first).node)) made_.assets.push_back(asset);
    }
  }

  /// Of a graph that is no SavedModel: a node behind those initializers that fill tables once. What steps change is in
  /// the checkpoint.
  Status add_main_op(const GraphFile& file, std::string& message) {
    if (!change_.with_values || (c_.model && !c_.model->meta.folder.empty())) return ok_status();
    NodeNames filled = holders_behind(file, initializers(file));
    std::vector<NodeId> outputs;
    for (const std::string& output : made_.outputs) outputs.push_back(file.graph.find(parse_input(output).node));
    const NodeNames used = holders_behind(file, outputs);
    std::erase_if(filled, [&](const std::string& name) { return !used.contains(name); });
    if (filled.empty()) return ok_status();
    ASSIGN_OR_RETURN(tables_, begun_run(c_, made_.outputs, true));
    const Graph& g = tables_->planned.file->graph;
    for (const std::string& name : NodeNames(filled)) {
      const NodeId table = g.find(name);
      if (table == kNoNode || !names_table(g.attrs(table))) continue;
      ASSIGN_OR_RETURN(const std::optional<TableContents> contents, tables_->planned.session->table(table));
      if (contents) filled.erase(name);
    }
    const TableFillers fillers = fillers_of(file, initializers(file), filled);
    if (fillers.nodes.empty()) return ok_status();
    filled_by_main_op_ = fillers.filled;
    RETURN_IF_ERROR(take_asset_files(file, fillers));
    return add_node_behind(fillers, message);
  }

  /// The files that nodes read are the new model's own.
  Status take_asset_files(const GraphFile& file, const TableFillers& fillers) {
    GraphCheckpoints access(graph_folders(*c_.found.source, c_.options.load));
    NodeNames taken;
    for (const auto& [tensor, name] : fillers.files) {
      Result<std::string> content = access.read_file(name);
      if (!content.ok()) return content.status().with_context(file.source->name()).blamed(Blame::kFile);
      const std::string base = name.substr(name.rfind('/') + 1);
      std::string own = base;
      for (int i = 1; !taken.insert(own).second; ++i) own = cat(base, "_", i);
      made_.new_assets.push_back({tensor, std::move(own), content.take()});
    }
    return ok_status();
  }

  Status add_node_behind(const TableFillers& fillers, std::string& message) {
    proto::WireError error;
    const MessageNodes nodes(message, error);
    std::string name = "init_tables";
    for (int i = 1; nodes.find(name); ++i) name = cat("init_tables_", i);
    NodeMessage made(name, "NoOp");  // built here
    for (const std::string& filler : fillers.nodes) made.input(cat("^", filler));
    message = with_nodes(
        message, [](const MessageNode& node) { return std::string(node.bytes); }, {made.take()}, error);
    if (error.failed()) return invalid_argument(error.message).blamed(Blame::kFile);
    made_.main_op = name;
    return ok_status();
  }

  /// The one that the options name, or all of the model if they leave that open.
  Status choose_signatures(const Validated& validated) {
    const GraphModel* model = c_.model.get();
    const bool open =
        c_.options.run.signature.empty() && model && (model->signature ? model->whole : c_.options.run.fetch.empty());
    whole_ = change_.with_values && open && !model->meta.signatures.empty();
    if (whole_) {
      made_.signatures = model->meta.signatures;
      for (const auto& [key, signature] : made_.signatures) {
        for (const auto& [output, info] : signature.outputs) made_.outputs.push_back(info.name);
      }
      return ok_status();
    }
    ASSIGN_OR_RETURN(RunRequest request,
                     resolve_request(*validated.file, c_.options.run, validated.gradients, c_.found.problems));
    fetches_ = std::move(request.fetches);
    for (const Fetch& fetch : fetches_) made_.outputs.push_back(tensor_text(validated.file->graph, fetch.tensor));
    if (model && model->signature) made_.signatures[model->key] = *model->signature;
    return ok_status();
  }

  /// The inputs of one signature are cut off; those of several may be what others compute.
  Status take_part(std::string_view message) {
    std::vector<std::string> needed = made_.outputs;
    if (!made_.main_op.empty()) needed.push_back(made_.main_op);
    for (const auto& [tensor, file] : made_.assets) needed.push_back(tensor);
    for (const AssetToWrite& asset : made_.new_assets) needed.push_back(asset.tensor);
    const bool cut = !whole_ && !made_.signatures.empty();
    for (const auto& [key, signature] : made_.signatures) {
      for (const auto& [input, info] : signature.inputs) {
        if (!cut) needed.push_back(info.name);
      }
    }
    const auto inputs = cut ? made_.signatures.begin()->second.inputs : std::map<std::string, TensorInfo>();
    ASSIGN_OR_RETURN(GraphPart part, part_of_graph(message, needed, inputs));
    made_.graph = std::move(part.bytes);
    if (!cut) return ok_status();
    for (auto& [key, info] : made_.signatures.begin()->second.inputs) {
      if (auto renamed = part.renamed.find(info.name); renamed != part.renamed.end())
        info.name = renamed->second + ":0";
    }
    return ok_status();
  }

  /// Of a SavedModel what is saved; its main op, if there is one, gives the others theirs.
  Result<Values> values_of(const GraphFile& file, const std::vector<std::string>& names) {
    Values values;
    if (names.empty()) return values;
    const bool before_init = has_own_main_op_;
    const bool saved = c_.model && !c_.model->meta.folder.empty() && c_.options.run.restore.empty();
    if (saved && (before_init || file.init.empty())) {
      ASSIGN_OR_RETURN(values, saved_values(c_.model->meta, file, names));
    }
    if ((saved && before_init) || values.size() == names.size()) return values;
    ASSIGN_OR_RETURN(const std::shared_ptr<const BegunRun> run, begun_run(c_, made_.outputs, !before_init));
    made_.run = run;
    return values_in(run->planned);
  }

  Status take_values(const GraphFile& file) {
    if (!change_.freeze && !change_.with_values) return ok_status();
    ASSIGN_OR_RETURN(const Values values, values_of(file, variable_names(made_.graph)));
    if (change_.freeze) {
      ASSIGN_OR_RETURN(Frozen frozen, freeze(made_.graph, values));
      made_.graph = std::move(frozen.bytes);
      made_.left_over = std::move(frozen.left_over);
    }
    if (!change_.with_values) return ok_status();
    const VariableNames fixed = not_trainable(c_.model ? &c_.model->meta : nullptr, file);
    ASSIGN_OR_RETURN(made_.contents.variables,
                     variables_of(variable_names(made_.graph), values, fixed, !has_own_main_op_));
    return ok_status();
  }

  /// Tables and the like that what runs first fills: the main op or the saver does that again.
  Status take_tables(const GraphFile& file) {
    if (!change_.freeze && !change_.with_values) return ok_status();
    proto::WireError ignored;
    const MessageNodes nodes(made_.graph, ignored);
    NodeNames filled = holders_behind(file, initializers(file));
    std::erase_if(filled, [&](const std::string& name) { return !nodes.find(name); });
    if (filled.empty() && c_.options.run.restore.empty()) return ok_status();
    if (!change_.with_values) {
      for (const std::string& name : filled)
        made_.left_over.push_back(
            cat(name, ": what fills a ", nodes.find(name)->op, " before the first step is left out"));
      return ok_status();
    }
    std::erase_if(filled, [&](const std::string& name) { return filled_by_main_op_.contains(name); });
    RETURN_IF_ERROR(take_saved_tables(file, filled));
    RETURN_IF_ERROR(take_tables_of_run(nodes, filled));
    for (const std::string& name : filled)
      c_.found.problems.add(kNoPosition,
                            cat("'", name, "' (", nodes.find(name)->op,
                                ") would be empty in a SavedModel: what fills it also writes variables, or is fed"),
                            "write a part without it: --fetch NAME");
    return first_problem(c_.found.problems).blamed(Blame::kFile);
  }

  /// Takes those out of `filled` that the model's saver restores.
  Status take_saved_tables(const GraphFile& file, NodeNames& filled) {
    if (!c_.model || c_.model->meta.folder.empty() || !c_.options.run.restore.empty()) return ok_status();
    ASSIGN_OR_RETURN(std::optional<TensorBundle> bundle,
                     TensorBundle::find(cat(c_.model->meta.folder, "/variables/variables")));
    if (!bundle) return ok_status();
    for (const SavedTable& table : saved_tables(file)) {
      if (filled.erase(table.node) == 0) continue;
      ASSIGN_OR_RETURN(Tensor keys, bundle->read(table.keys.key, table.keys.slice));
      ASSIGN_OR_RETURN(Tensor values, bundle->read(table.values.key, table.values.slice));
      made_.contents.tables.push_back({table.node, std::move(keys), std::move(values)});
    }
    return ok_status();
  }

  /// Takes those out of `filled` that steps change, as a run finds them: initializers have run, --restore is done.
  Status take_tables_of_run(const MessageNodes& nodes, NodeNames& filled) {
    if (filled.empty() && c_.options.run.restore.empty()) return ok_status();
    if (!tables_) {
      ASSIGN_OR_RETURN(tables_, begun_run(c_, made_.outputs, true));
    }
    const Graph& g = tables_->planned.file->graph;
    for (NodeId id = 0; id < g.num_nodes(); ++id) {
      if (!names_table(g.attrs(id)) || !nodes.find(g.name(id))) continue;
      ASSIGN_OR_RETURN(std::optional<TableContents> contents, tables_->planned.session->table(id));
      if (!contents) continue;
      filled.erase(std::string(g.name(id)));
      made_.contents.tables.push_back(
          {std::string(g.name(id)), std::move(contents->keys), std::move(contents->values)});
    }
    return ok_status();
  }

  StageContext& c_;
  const ModelChange change_;
  bool whole_ = false;            // all signatures
  bool has_own_main_op_ = false;  // a SavedModel's
  NodeNames filled_by_main_op_;
  std::shared_ptr<const BegunRun> tables_;  // after the initializers
  std::vector<Fetch> fetches_;
  ConvertedModel made_;
};

}  // namespace

Result<ConvertedModel> convert_model(StageContext& c, const GraphMessage& graph, const ModelChange& change) {
  return ModelConverter(c, change).convert(graph);
}

}  // namespace emplace
