#include "core/training_of_model.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/lookup.h"
#include "core/op/trait_table.h"
#include "core/train/variable_nodes.h"

namespace emplace {
namespace {

std::string node_name(const std::string& tensor) { return tensor.substr(0, tensor.find(':')); }

void name_tensor(const Signature& signature, std::string& name) {
  if (auto output = signature.outputs.find(name); output != signature.outputs.end()) name = output->second.name;
}

/// Those of `inputs`, tensors by their keys, that hold a row for each sample: by their keys in an .npz, or by the
/// columns of that name.
DataSet data_of(const std::map<std::string, TensorInfo>& inputs, const GraphFile& file, const RunOptions& run) {
  DataSet set;
  for (const auto& [key, info] : inputs) {
    const bool scalar = info.shape.rank_known() && info.shape.rank() == 0;
    if (scalar || is_fed(info.name, file, run)) continue;
    FeedRequest& feed = set.feeds.emplace_back();
    feed.placeholder.name = info.name;
    feed.key = key;
  }
  if (set.feeds.size() == 1) return set;  // all columns are its own
  for (FeedRequest& feed : set.feeds) feed.columns = feed.key;
  return set;
}

/// One floating-point number. Other outputs, such as a count of steps, are computed only.
bool is_metric(const TensorInfo& info) {
  const bool floating = info.dtype == DType::kFloat || info.dtype == DType::kDouble || info.dtype == DType::kHalf ||
                        info.dtype == DType::kBFloat16;
  return floating && info.shape.rank_known() && info.shape.rank() == 0;
}

void train_signature(const Signature& signature, TrainFlags& flags, TrainRequest& train) {
  name_tensor(signature, flags.loss);
  for (std::string& metric : flags.metric) {
    const size_t equals = metric.find('=');
    std::string tensor = metric.substr(equals == std::string::npos ? 0 : equals + 1);
    const std::string name = metric.substr(0, equals);
    name_tensor(signature, tensor);
    metric = cat(name, "=", tensor);
  }
  const std::string loss = flags.loss.empty() ? "loss" : flags.loss;
  for (const auto& [key, info] : signature.outputs) {
    if (key == loss || info.name == loss) {
      train.loss.name = info.name;
    } else if (flags.metric.empty() && flags.optimizer.empty() && is_metric(info)) {
      train.metrics.push_back({key, {info.name, kNoPosition}});
    }
    if (flags.optimizer.empty()) train.target.push_back({node_name(info.name), kNoPosition});
  }
}

/// The variable behind a handle or reference that is passed on; kNoNode: behind none.
NodeId variable_behind(const Graph& g, Endpoint e) {
  for (uint32_t steps = 0; steps < g.num_nodes() && !g.traits(e.node).variable; ++steps) {
    const OpTraits& traits = g.traits(e.node);
    const bool passes = traits.identity || traits.control != Control::kNone;
    if (!passes || g.inputs(e.node).empty()) return kNoNode;
    e = g.inputs(e.node)[0];
  }
  return e.node;
}

bool updates_trained(const Graph& g, NodeId node, const TrainRequest& train) {
  if (!g.traits(node).writes_variable || g.inputs(node).empty()) return false;
  const NodeId variable = variable_behind(g, g.inputs(node)[0]);
  return variable != kNoNode && g.traits(variable).variable && is_floating(describe_variable(g, variable).dtype) &&
         !train.not_trainable.contains(g.name(variable));
}

/// Does one of the nodes that `node` waits for, but whose values it does not take, update a trained variable?
bool has_own_update(const Graph& g, NodeId node, const TrainRequest& train) {
  std::vector<NodeId> left;
  std::vector<bool> seen(g.num_nodes());
  const auto add = [&](NodeId id) {
    if (!seen[id]) left.push_back(id);
    seen[id] = true;
  };
  for (Endpoint control : g.controls(node)) add(control.node);
  while (!left.empty()) {
    const NodeId id = left.back();
    left.pop_back();
    if (updates_trained(g, id, train)) return true;
    for (Endpoint input : g.inputs(id)) add(input.node);
    for (Endpoint control : g.controls(id)) add(control.node);
  }
  return false;
}

/// The tensor that a call gives, where it stands in the lowered graph for more than its value.
void take_value_alone(const GraphFile& loaded, const GraphFile& file, const TrainRequest& train, std::string& name) {
  NameError ignored;
  const Graph& g = file.graph;
  const Endpoint e = find_tensor(g, name, ignored);
  const NodeId call = loaded.graph.find(node_name(name));
  if (e.node == kNoNode || call == kNoNode || traits_of(loaded.graph.op(call)).functional == Functional::kNone) return;
  Endpoint value = e;
  for (Endpoint at = e; at.slot < g.inputs(at.node).size();) {
    const Endpoint input = g.inputs(at.node)[at.slot];
    if (has_own_update(g, at.node, train)) value = input;
    if (!g.traits(input.node).identity) break;
    at = input;
  }
  if (value != e) name = cat(g.name(value.node), ":", value.slot);
}

}  // namespace

void leave_own_update_out(const GraphFile& loaded, const GraphFile& file, TrainRequest& train) {
  take_value_alone(loaded, file, train, train.loss.name);
  for (Metric& metric : train.metrics) take_value_alone(loaded, file, train, metric.tensor.name);
}

void feed_placeholders_by_name(const GraphFile& file, const RunOptions& run, const TrainFlags& flags,
                               DataRequest& data) {
  if (flags.data.empty() || data.train) return;
  const Graph& g = file.graph;
  std::map<std::string, TensorInfo> placeholders;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (!g.traits(id).placeholder) continue;
    TensorInfo& info = placeholders[std::string(g.name(id))];
    info.name = g.name(id), info.shape = g.output_shape({id, 0});
  }
  if (!placeholders.empty()) data.train = data_of(placeholders, file, run);
}

void train_model(const GraphModel& model, const GraphFile& file, const RunOptions& run, TrainFlags& flags,
                 TrainRequest& train, DataRequest& data) {
  if (model.signature) {
    train_signature(*model.signature, flags, train);
    if (!flags.data.empty()) data.train = data_of(model.signature->inputs, file, run);
    return;
  }
  if (model.meta.losses.size() == 1) train.loss.name = model.meta.losses.front();
  if (!flags.optimizer.empty()) return;
  for (const std::string& op : model.meta.train_op) train.target.push_back({node_name(op), kNoPosition});
}

}  // namespace emplace
