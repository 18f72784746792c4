// Part of core/train/strategies/assembly.h: mirrored: every replica has its copy of the variables and of the
// optimizer's state, and updates it with the same mean gradient by the same kernels, so that the copies stay equal byte
// for byte.
#include <algorithm>

#include "core/base/cat.h"
#include "core/device/device_name.h"
#include "core/partition/bucket_order.h"
#include "core/train/strategies/assembly.h"

namespace emplace {
namespace {

/// The copies of all variables for one replica but the first; `instead` gets what the replica reads for the originals.
std::vector<TrainVariable> copy_variables(Assembly& a, size_t replica, const std::string& device,
                                          Replacements& instead) {
  const Graph& g = a.edit.graph();
  const std::string suffix = cat("/replica_", replica);
  std::vector<TrainVariable> copies;
  for (const TrainVariable& v : a.variables) {
    NewVariable copy{.name = cat(v.name, suffix),
                     .resource = v.resource,
                     .dtype = v.dtype,
                     .shape = v.shape,
                     .first = {},
                     .colocate_with = {},
                     .device = device};
    const NodeId assign = g.find(cat(v.name, "/Assign"));
    copy.first.source = assign != kNoNode && g.node(assign).num_inputs >= 2
                            ? g.inputs(assign)[1]
                            : read_now(a.edit, cat(copy.name, "/initial_value"), v.handle(), v.resource);
    const VariableNodes nodes = add_variable(a.edit, copy);
    a.initializers.push_back(nodes.assign);
    a.out.copies.emplace_back(nodes.variable, v.node);
    instead.emplace_back(v.handle(), nodes.handle());
    if (NodeId read = g.find(cat(v.name, v.resource ? "/Read/ReadVariableOp" : "/read")); read != kNoNode)
      instead.emplace_back(Endpoint{read, 0}, nodes.read);
    copies.push_back(describe_variable(g, nodes.variable));
  }
  return copies;
}

Result<std::vector<Tower>> add_replicas(Assembly& a, const BatchParts& parts) {
  const auto& devices = a.request.replication.replicas;
  for (const TrainVariable& v : a.variables) {
    const NodeId assign = a.edit.graph().find(cat(v.name, "/Assign"));
    const bool assigned = assign != kNoNode && a.edit.graph().node(assign).num_inputs >= 2;
    if (!assigned && !a.request.has_values) {
      return invalid_argument(cat("variable '", v.name, "' has no node '", v.name,
                                  "/Assign' that gives it a first value; its copies need one"));
    }
    move_variable(a.edit, v, devices[0]);
  }
  std::vector<Tower> replicas;
  for (size_t i = 0; i < devices.size(); ++i) {
    Tower t;
    t.scope = free_scope(a.edit, cat("replica_", i));
    t.device = devices[i];
    ASSIGN_OR_RETURN(t.weights, tower_weights(a.edit.graph(), parts, i, step_tensors(a)));
    Replacements instead;
    for (const auto& [whole, by_replica] : parts.placeholders) instead.emplace_back(whole, by_replica[i]);
    t.variables = i == 0 ? a.variables : copy_variables(a, i, t.device, instead);
    add_tower_tensors(a, t, instead);
    replicas.push_back(std::move(t));
  }
  return replicas;
}

using ByReplica = std::vector<std::vector<GradientAndVariable>>;  // by replica, then variable

bool on_one_task(const std::vector<Tower>& replicas) {
  const auto task = [](const Tower& t) { return DeviceName::parse(t.device)->task_name(); };
  return std::all_of(replicas.begin(), replicas.end(),
                     [&](const Tower& t) { return task(t) == task(replicas.front()); });
}

int64_t gradient_bytes(const GradientAndVariable& g) {
  return g.variable.shape.num_elements() * static_cast<int64_t>(dtype_size(g.variable.dtype));
}

/// Where the mean of each gradient is made that does not meet by NCCL: on the first replica; of replicas on several
/// tasks, on the one that has the least to make so far, so that what goes over the network is spread over all of them
/// as by an all-reduce. The order of a sum's terms, and so its bytes, are the same wherever it is made.
std::vector<size_t> choose_reducers(const std::vector<Tower>& replicas, const std::vector<GradientAndVariable>& means) {
  std::vector<size_t> out(means.size());
  std::vector<int64_t> bytes(replicas.size());
  for (size_t v = 0; v < means.size() && !on_one_task(replicas); ++v) {
    out[v] = static_cast<size_t>(std::min_element(bytes.begin(), bytes.end()) - bytes.begin());
    bytes[out[v]] += gradient_bytes(means[v]);
  }
  return out;
}

/// Tells partition() which gradients meet together on several tasks (core/partition/bucket_order.h): buckets fill in
/// the order in which the backward pass makes gradients. Slices, whose number is not known, meet after all others.
void mark_buckets(Assembly& a, const std::vector<GradientAndVariable>& gradients,
                  const std::vector<GradientAndVariable>& means) {
  std::vector<size_t> order;
  for (size_t v = 0; v < means.size(); ++v) {
    if (!means[v].is_slices()) order.push_back(v);
  }
  std::sort(order.begin(), order.end(),
            [&](size_t x, size_t y) { return gradients[x].gradient.node < gradients[y].gradient.node; });
  const int64_t most = a.request.replication.bucket_bytes.value_or(Replication::kDefaultBucketBytes);
  int64_t bucket = 0, bytes = 0;
  for (const size_t v : order) {
    if (bytes > 0 && bytes + gradient_bytes(means[v]) > most) ++bucket, bytes = 0;
    bytes += gradient_bytes(means[v]);
    const NodeId mean = means[v].gradient.node, sum = a.edit.graph().inputs(mean)[0].node;
    for (const NodeId node : {sum, mean}) a.edit.set_attr(node, kBucketAttr, AttrValue::of(bucket));
  }
}

/// The mean gradient, clipped, for each replica. By all-reduce, every replica has and clips its own; otherwise, and
/// where it is slices, it is made on one device and read across.
ByReplica mean_gradients(Assembly& a, const std::vector<Tower>& replicas, const ByReplica& by_replica, Endpoint total) {
  const bool nccl = a.request.replication.nccl;
  ByReplica means = by_replica;
  const std::vector<size_t> reducers = choose_reducers(replicas, by_replica[0]);
  for (size_t v = 0; v < by_replica[0].size(); ++v) {
    std::vector<GradientAndVariable> parts;
    std::vector<Endpoint> sums;
    for (const auto& of_replica : by_replica) parts.push_back(of_replica[v]), sums.push_back(of_replica[v].gradient);
    if (nccl && !parts[0].is_slices()) {
      const std::vector<Endpoint> reduced =
          add_all_reduced_means(a.edit, replicas, sums, total, static_cast<int64_t>(v));
      for (size_t i = 0; i < replicas.size(); ++i) means[i][v].gradient = reduced[i];
    } else {
      const GradientAndVariable mean = mean_gradient(a, parts, total, replicas[reducers[v]].device);
      for (size_t i = 0; i < replicas.size(); ++i) means[i][v] = mean;
    }
  }
  if (!nccl && !on_one_task(replicas)) mark_buckets(a, by_replica[0], means[0]);
  for (size_t i = 0; i < replicas.size(); ++i) {
    if (i == 0 || nccl) clip_gradients(a, means[i], replicas[i].device);
    for (size_t v = 0; v < means[i].size() && !nccl; ++v) means[i][v].gradient = means[0][v].gradient;
  }
  return means;
}

}  // namespace

Status train_mirrored(Assembly& a) {
  const std::string& reducer = a.request.replication.replicas[0];
  ASSIGN_OR_RETURN(BatchParts parts, split_batch(a.edit, step_tensors(a), a.request.replication.replicas.size()));
  ASSIGN_OR_RETURN(std::vector<Tower> replicas, add_replicas(a, parts));
  ByReplica by_replica;
  for (Tower& t : replicas) {
    ASSIGN_OR_RETURN(auto of_replica, gradients_of(a, objective(a.edit, t), t.variables, cat(t.scope, "/")));
    by_replica.push_back(std::move(of_replica));
  }
  const ByReplica means = mean_gradients(a, replicas, by_replica, parts.total);
  ASSIGN_OR_RETURN(Pace pace, set_pace(a, "/device:CPU:0"));

  const std::string scope = free_name(a.edit, "train");
  OptimizerState first;
  std::vector<NodeId> updates;
  for (size_t i = 0; i < replicas.size(); ++i) {
    const std::string suffix = cat("/replica_", i);
    OptimizerState state = i == 0
                               ? add_optimizer_state(a.edit, a.request, a.rule, replicas[0].variables)
                               : copy_optimizer_state(a.edit, a.request, a.rule, replicas[i].variables, first, suffix);
    const std::vector<VariableNodes> all = state.all();
    if (i == 0) first = state;
    const std::vector<VariableNodes> originals = first.all();
    for (size_t s = 0; s < all.size(); ++s) {
      a.initializers.push_back(all[s].assign);
      if (i > 0) a.out.copies.emplace_back(all[s].variable, originals[s].variable);
    }
    std::vector<GradientAndVariable> own = means[i];
    for (size_t v = 0; v < own.size(); ++v) own[v].variable = replicas[i].variables[v];
    UpdatePlace place{.scope = cat(replicas[i].scope, "/train"),
                      .device = replicas[i].device,
                      .learning_rate = pace.learning_rate,
                      .global_step = nullptr};
    updates.push_back(add_update(a.edit, a.request, a.rule, state, own, place));
  }
  a.out.targets = {pace.counted()
                       ? count_steps(a.edit, *pace.counted(), scope, add_group(a.edit, cat(scope, "/update"), updates))
                       : add_group(a.edit, scope, updates)};
  mean_over_towers(a, replicas, parts.total, reducer);
  return ok_status();
}

}  // namespace emplace
