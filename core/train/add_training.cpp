// Part of core/train/training_graph.h: add_training(): from a request to the finished graph.
#include <algorithm>

#include "core/base/cat.h"
#include "core/base/json_writer.h"
#include "core/graph/lookup.h"
#include "core/train/optimizers/optimizer_list.h"
#include "core/train/strategies/assembly.h"

namespace emplace {
namespace {

std::string tensor_name(const Graph& g, Endpoint e) {
  return e.slot == 0 ? std::string(g.name(e.node)) : cat(g.name(e.node), ":", e.slot);
}

bool is_trainable(const GraphFile& file, const TrainRequest& request, NodeId node) {
  if (request.not_trainable.contains(file.graph.name(node))) return false;
  auto written = std::find_if(file.variables.begin(), file.variables.end(),
                              [&](const FileVariable& v) { return v.variable == node; });
  return written == file.variables.end() || written->trainable;
}

void check_shape(const GraphFile& file, const TrainVariable& v, Problems& problems) {
  if (v.shape.fully_known()) return;
  problems.add(file.graph.node(v.node).position, cat("variable '", v.name, "' has shape ", v.shape.to_string(),
                                                     "; to be trained its shape must be known"));
}

/// Those of `var_list`, or every trainable one of a floating-point type.
std::vector<TrainVariable> choose_variables(const GraphFile& file, const TrainRequest& request, Problems& problems) {
  const Graph& g = file.graph;
  std::vector<TrainVariable> out;
  NameError error;
  for (const NamedRef& ref : request.var_list) {
    NodeId node = find_node(g, ref.name, error);
    if (node == kNoNode) {
      problems.add(ref.position, cat("var_list: ", error.message), error.hint);
    } else if (!g.traits(node).variable || !is_floating(describe_variable(g, node).dtype)) {
      problems.add(ref.position,
                   cat("var_list: '", ref.name, "' (", g.op(node), ") is not a variable of a floating-point type"));
    } else {
      out.push_back(describe_variable(g, node));
    }
  }
  for (NodeId node = 0; request.var_list.empty() && node < g.num_nodes(); ++node) {
    if (!g.traits(node).variable || !is_trainable(file, request, node)) continue;
    TrainVariable v = describe_variable(g, node);
    if (is_floating(v.dtype)) out.push_back(std::move(v));
  }
  if (out.empty() && problems.empty())
    problems.add(request.loss.position, "there is no variable to train",
                 "a trainable variable has a floating-point type");
  for (const TrainVariable& v : out) check_shape(file, v, problems);
  return out;
}

Status assemble(Assembly& a) {
  switch (a.request.replication.strategy) {
    case Strategy::kNone:
      return train_on_one_device(a);
    case Strategy::kMirrored:
      return train_mirrored(a);
    case Strategy::kPsSync:
    case Strategy::kPsAsync:
      return train_with_parameter_device(a);
  }
  return internal_error("a strategy without a name");
}

/// One node that gives all variables their first values, or as many names as the file had and one for what was added.
std::vector<std::string> add_init(const GraphFile& file, Assembly& a) {
  std::vector<std::string> names;
  const Graph& g = a.edit.graph();
  if (file.has_init) {
    for (const NamedRef& ref : file.init) names.push_back(ref.name);
  } else if (g.find("init") != kNoNode) {
    names.push_back("init");
  } else {
    for (NodeId node = 0; node < g.num_nodes(); ++node) {
      if (!g.traits(node).variable) continue;
      NodeId assign = g.find(cat(g.name(node), "/Assign"));
      if (assign != kNoNode && std::find(a.initializers.begin(), a.initializers.end(), assign) == a.initializers.end())
        a.initializers.push_back(assign);
    }
  }
  if (a.initializers.empty()) return names;
  names.push_back(free_name(a.edit, "init"));
  add_group(a.edit, names.back(), a.initializers);
  return names;
}

/// The `train` key without what is in the graph now.
std::string train_text(const Graph& g, const TrainRequest& request, const TrainGraph& training) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("loss", tensor_name(g, training.loss));
  if (!training.metrics.empty()) {
    json.key("metrics").begin_object();
    for (const auto& [name, tensor] : training.metrics) json.member(name, tensor_name(g, tensor));
    json.end_object();
  }
  if (request.batch > 0) json.member("batch", request.batch);
  if (request.epochs > 0) json.member("epochs", request.epochs);
  if (request.steps > 0) json.member("steps", request.steps);
  json.member("seed", request.seed).member("shuffle", request.shuffle);
  if (request.drop_remainder) json.member("drop_remainder", true);
  json.end_object();
  return out;
}

void describe(GraphFile& file, const TrainRequest& request, const TrainGraph& training,
              const std::vector<std::string>& init) {
  file.has_init = true;
  file.init.clear();
  for (const std::string& name : init) file.init.push_back({name, kNoPosition});
  file.target.clear();
  for (NodeId node : training.targets) file.target.push_back({std::string(file.graph.name(node)), kNoPosition});
  file.has_fetch = true;
  file.fetch = {{tensor_name(file.graph, training.loss), kNoPosition}};
  file.train_json = file.graph.keep(train_text(file.graph, request, training));
}

}  // namespace

void add_training(GraphFile& file, const TrainRequest& request, TrainGraph& out, Problems& problems) {
  find_training(file, request, out, problems);
  for (const auto& [name, tensor] : out.metrics) out.batch_metrics.push_back(tensor);
  if (request.optimizer.empty() || !problems.empty()) return;
  std::vector<TrainVariable> variables = choose_variables(file, request, problems);
  if (!problems.empty()) return;
  GraphEditor edit(file);
  Assembly a{edit, request, update_rule(request), std::move(variables), !request.var_list.empty(), out, {}};
  out.targets.clear();
  if (Status status = assemble(a); !status.ok())
    return problems.add(request.loss.position, status.message(), {}, status.code());
  const std::vector<std::string> init = add_init(file, a);
  edit.finish(problems);
  if (!problems.empty()) return;

  out.loss = edit.new_id(out.loss);
  for (auto& [name, tensor] : out.metrics) tensor = edit.new_id(tensor);
  for (NodeId& node : out.targets) node = edit.new_id(node);
  for (Endpoint& tensor : out.batch_metrics) tensor = edit.new_id(tensor);
  for (auto& tower : out.towers) {
    tower.loss = edit.new_id(tower.loss);
    tower.update = edit.new_id(tower.update);
    for (Endpoint& tensor : tower.metrics) tensor = edit.new_id(tensor);
  }
  for (auto& [copy, original] : out.copies) copy = edit.new_id(copy), original = edit.new_id(original);
  out.init.clear();
  for (const std::string& name : init) out.init.push_back(file.graph.find(name));
  describe(file, request, out, init);
}

}  // namespace emplace
