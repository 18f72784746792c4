// Part of core/train/strategies/assembly.h: ps-sync and ps-async: variables and optimizer state on one device, or
// in turn on several, as tf.train.replica_device_setter() has them; towers on the others.
#include <algorithm>

#include "core/base/cat.h"
#include "core/train/strategies/assembly.h"

namespace emplace {
namespace {

/// Where what belongs to no variable is.
const std::string& first_device(const Assembly& a) { return a.request.replication.parameter_devices.front(); }

std::string device_of(const Assembly& a, const TrainVariable& v) {
  return std::string(a.edit.graph().requested_device(v.node));
}

/// In the order of the file, whatever var_list says.
void place_variables(Assembly& a) {
  const std::vector<std::string>& devices = a.request.replication.parameter_devices;
  std::vector<TrainVariable> in_order = a.variables;
  std::sort(in_order.begin(), in_order.end(), [](const auto& one, const auto& other) { return one.node < other.node; });
  for (size_t i = 0; i < in_order.size(); ++i) move_variable(a.edit, in_order[i], devices[i % devices.size()]);
}

Result<std::vector<Tower>> add_towers(Assembly& a, const BatchParts* parts) {
  const Replication& replication = a.request.replication;
  std::vector<Tower> towers;
  for (size_t i = 0; i < replication.replicas.size(); ++i) {
    Tower t;
    t.scope = free_scope(a.edit, cat("tower_", i));
    t.device = replication.replicas[i];
    t.variables = a.variables;
    Replacements instead;
    if (parts) {
      ASSIGN_OR_RETURN(t.weights, tower_weights(a.edit.graph(), *parts, i, step_tensors(a)));
      for (const auto& [whole, by_replica] : parts->placeholders) instead.emplace_back(whole, by_replica[i]);
    }
    add_tower_tensors(a, t, instead);
    towers.push_back(std::move(t));
  }
  return towers;
}

Result<std::vector<std::vector<GradientAndVariable>>> tower_gradients(Assembly& a, const std::vector<Tower>& towers) {
  std::vector<std::vector<GradientAndVariable>> all;
  for (const Tower& t : towers) {
    ASSIGN_OR_RETURN(auto of_tower, gradients_of(a, objective(a.edit, t), a.variables, cat(t.scope, "/")));
    all.push_back(std::move(of_tower));
  }
  return all;
}

OptimizerState add_state(Assembly& a) {
  OptimizerState state = add_optimizer_state(a.edit, a.request, a.rule, a.variables);
  for (const VariableNodes& v : state.all()) a.initializers.push_back(v.assign);
  return state;
}

/// One update from the mean over the samples of all towers.
Status update_together(Assembly& a) {
  const std::string& ps = first_device(a);
  ASSIGN_OR_RETURN(BatchParts parts, split_batch(a.edit, step_tensors(a), a.request.replication.replicas.size()));
  ASSIGN_OR_RETURN(const std::vector<Tower> towers, add_towers(a, &parts));
  ASSIGN_OR_RETURN(auto by_tower, tower_gradients(a, towers));
  std::vector<GradientAndVariable> means;
  means.reserve(a.variables.size());
  for (size_t v = 0; v < a.variables.size(); ++v) {
    std::vector<GradientAndVariable> sums;
    sums.reserve(by_tower.size());
    for (const auto& of_tower : by_tower) sums.push_back(of_tower[v]);
    means.push_back(mean_gradient(a, sums, parts.total, device_of(a, a.variables[v])));
  }
  clip_gradients(a, means, ps);
  ASSIGN_OR_RETURN(Pace pace, set_pace(a, ps));
  const OptimizerState state = add_state(a);
  UpdatePlace place{.scope = free_name(a.edit, "train"),
                    .device = ps,
                    .learning_rate = pace.learning_rate,
                    .global_step = pace.counted()};
  a.out.targets = {add_update(a.edit, a.request, a.rule, state, means, place)};
  mean_over_towers(a, towers, parts.total, ps);
  return ok_status();
}

/// Each tower with an update of its own, from a batch of its own.
Status update_apart(Assembly& a) {
  const std::string& ps = first_device(a);
  ASSIGN_OR_RETURN(const std::vector<Tower> towers, add_towers(a, nullptr));
  ASSIGN_OR_RETURN(auto by_tower, tower_gradients(a, towers));
  ASSIGN_OR_RETURN(Pace pace, set_pace(a, ps));
  const OptimizerState state = add_state(a);
  for (size_t i = 0; i < towers.size(); ++i) {
    clip_gradients(a, by_tower[i], ps);
    UpdatePlace place{.scope = cat(towers[i].scope, "/train"),
                      .device = ps,
                      .learning_rate = pace.learning_rate,
                      .global_step = pace.counted()};
    a.out.towers.push_back(
        {towers[i].loss, towers[i].metrics, add_update(a.edit, a.request, a.rule, state, by_tower[i], place)});
    a.out.targets.push_back(a.out.towers.back().update);
  }
  a.out.loss = towers.front().loss;
  a.out.batch_metrics = towers.front().metrics;
  return ok_status();
}

}  // namespace

Status train_with_parameter_device(Assembly& a) {
  place_variables(a);
  return a.request.replication.strategy == Strategy::kPsSync ? update_together(a) : update_apart(a);
}

}  // namespace emplace
