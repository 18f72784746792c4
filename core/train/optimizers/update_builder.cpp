#include "core/train/optimizers/update_builder.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/train/optimizers/optimizer_list.h"
#include "core/train/optimizers/row_update.h"

namespace emplace {
namespace {

NodeId increment(GraphEditor& edit, const VariableNodes& count, const std::string& name, const std::string& constant,
                 const std::vector<NodeId>& after) {
  NewNode one{.name = constant, .op = "Const", .controls = after, .colocate_with = {count.variable}};
  one.attrs = {{"dtype", AttrValue::of(DType::kInt64)}, {"value", AttrValue::of(scalar_of(DType::kInt64, 1))}};
  const Endpoint value = edit.add_output(std::move(one));
  return edit.add({.name = name,
                   .op = count.resource ? "AssignAddVariableOp" : "AssignAdd",
                   .inputs = {count.handle(), value},
                   .colocate_with = {count.variable}});
}

class UpdateBuilder {
 public:
  UpdateBuilder(GraphEditor& edit, const TrainRequest& request, const UpdateRule& rule, const OptimizerState& state,
                const UpdatePlace& place)
      : edit_(edit), request_(request), rule_(rule), state_(state), place_(place) {}

  NodeId build(const std::vector<GradientAndVariable>& gradients) {
    prepare();
    std::vector<NodeId> updates;
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].is_slices() && rule_.updates_rows())
        update_rows(gradients[i], state_.slots[i], updates);
      else
        updates.push_back(update(gradients[i], state_.slots[i]));
    }
    const std::vector<NodeId> finished = rule_.is_keras ? count_iteration(updates) : multiply_powers(updates);
    updates.insert(updates.end(), finished.begin(), finished.end());
    if (!place_.global_step) return add_group(edit_, place_.scope, updates);
    return count_steps(edit_, *place_.global_step, place_.scope, add_group(edit_, name("update"), updates));
  }

 private:
  std::string name(std::string_view last) const { return cat(place_.scope, "/", last); }

  /// What all variables' updates read.
  void prepare() {
    if (place_.learning_rate.node != kNoNode) {
      shared_.emplace_back("learning_rate", place_.learning_rate);
    } else {
      const std::optional<double>& given = request_.learning_rate.number;
      add_constant("learning_rate", given ? *given : *find_optimizer(request_.optimizer)->learning_rate);
    }
    for (std::string_view constant : rule_.constants) add_constant(constant, argument(request_, constant));
    if (rule_.is_keras) raise_powers();
  }

  void add_constant(std::string_view argument_name, double value) {
    shared_.emplace_back(argument_name,
                         edit_.constant(name(argument_name), scalar_of(DType::kFloat, value), {}, place_.device));
  }

  /// beta to the number of this step, counted from 1.
  void raise_powers() {
    const VariableNodes& count = state_.iteration;
    Endpoint before = count.resource ? read_now(edit_, name("ReadVariableOp"), count.handle(), true) : count.read;
    const std::vector<NodeId> with = {count.variable};
    Endpoint one = edit_.constant(name("add/y"), scalar_of(DType::kInt64, 1), with);
    Endpoint step =
        edit_.add_output({.name = name("add"), .op = "AddV2", .inputs = {before, one}, .colocate_with = with});
    Endpoint local_step = edit_.add_output({.name = name("Cast"),
                                            .op = "Cast",
                                            .inputs = {step},
                                            .attrs = {{"DstT", AttrValue::of(DType::kFloat)}},
                                            .colocate_with = with});
    for (const PowerRule& power : rule_.powers) {
      Endpoint raised = edit_.add_output({.name = name(power.name),
                                          .op = "Pow",
                                          .inputs = {shared(power.argument), local_step},
                                          .colocate_with = with});
      shared_.emplace_back(power.name, raised);
    }
  }

  Endpoint shared(std::string_view key) const {
    for (const auto& [known, value] : shared_) {
      if (known == key) return value;
    }
    return {};
  }

  void update_rows(const GradientAndVariable& g, const std::vector<VariableNodes>& slots,
                   std::vector<NodeId>& updates) {
    const std::string scope = name(cat("update_", g.variable.name));
    RowUpdate rows(edit_, rule_, g, slots, scope,
                   [&](std::string_view operand) { return as_type(shared(operand), g.variable, scope); });
    if (rule_.rows_step)
      rows.subtract(rule_.rows_step(rows));
    else
      rows.apply(rule_.rows_op);
    updates.insert(updates.end(), rows.writes().begin(), rows.writes().end());
  }

  NodeId update(GradientAndVariable g, const std::vector<VariableNodes>& slots) {
    const TrainVariable& v = g.variable;
    const std::string scope = name(cat("update_", v.name));
    if (g.is_slices()) g.gradient = densify_rows(edit_, g, scope);
    const std::string op = cat(v.resource ? "Resource" : "", rule_.op);
    NewNode node{.name = cat(scope, "/", op), .op = op, .colocate_with = {v.node}};
    if (rule_.is_keras) node.controls = {decay_weights(g, scope)};
    for (std::string_view operand : rule_.operands)
      node.inputs.push_back(find_operand(operand, g, slots, scope, node.name));
    for (const auto& [flag, value] : rule_.flags) node.attrs.emplace_back(flag, AttrValue::of(value));
    return edit_.add(std::move(node));
  }

  Endpoint find_operand(std::string_view operand, const GradientAndVariable& g, const std::vector<VariableNodes>& slots,
                        const std::string& scope, const std::string& node) {
    if (operand == "variable") return g.variable.handle();
    if (operand == "gradient") return g.gradient;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (rule_.slots[i].key == operand) return slots[i].handle();
    }
    Endpoint value = shared(operand);
    for (size_t i = 0; i < state_.powers.size(); ++i) {
      const VariableNodes& power = state_.powers[i];
      if (rule_.powers[i].name == operand)
        value = power.resource ? read_now(edit_, cat(node, "/ReadVariableOp"), power.handle(), true) : power.read;
    }
    return as_type(value, g.variable, scope);
  }

  /// The kernels want every number in the variable's type.
  Endpoint as_type(Endpoint value, const TrainVariable& v, const std::string& scope) {
    if (edit_.type(value) == v.dtype) return value;
    return edit_.add_output({.name = cat(scope, "/Cast"),
                             .op = "Cast",
                             .inputs = {value},
                             .attrs = {{"DstT", AttrValue::of(v.dtype)}},
                             .colocate_with = {v.node}});
  }

  /// variable -= variable * weight_decay * learning_rate, once the gradient no longer needs what the variable was.
  NodeId decay_weights(const GradientAndVariable& g, const std::string& scope) {
    const TrainVariable& v = g.variable;
    Endpoint now = read_now(edit_, cat(scope, "/ReadVariableOp"), v.handle(), v.resource, {g.gradient.node});
    Endpoint decay = as_type(shared("weight_decay"), v, scope), rate = as_type(shared("learning_rate"), v, scope);
    Endpoint part = edit_.add_output({.name = cat(scope, "/mul"),
                                      .op = "Mul",
                                      .inputs = {now, decay},
                                      .controls = {g.gradient.node},
                                      .colocate_with = {v.node}});
    Endpoint loss =
        edit_.add_output({.name = cat(scope, "/mul"), .op = "Mul", .inputs = {part, rate}, .colocate_with = {v.node}});
    std::string_view op = v.resource ? "AssignSubVariableOp" : "AssignSub";
    return edit_.add(
        {.name = cat(scope, "/", op), .op = std::string(op), .inputs = {v.handle(), loss}, .colocate_with = {v.node}});
  }

  /// power *= beta, after all updates have read it.
  std::vector<NodeId> multiply_powers(const std::vector<NodeId>& updates) {
    std::vector<NodeId> assigned;
    for (size_t i = 0; i < state_.powers.size(); ++i) {
      const VariableNodes& power = state_.powers[i];
      const Endpoint beta = shared(rule_.powers[i].argument);
      const std::vector<NodeId> with = {power.variable};
      if (power.resource) {
        Endpoint before = read_now(edit_, name("ReadVariableOp"), power.handle(), true, updates);
        Endpoint product =
            edit_.add_output({.name = name("mul"), .op = "Mul", .inputs = {before, beta}, .colocate_with = with});
        NewNode assign{.name = name("AssignVariableOp"),
                       .op = "AssignVariableOp",
                       .inputs = {power.handle(), product},
                       .colocate_with = with};
        assign.attrs = {{"validate_shape", AttrValue::of(true)}};
        assigned.push_back(edit_.add(std::move(assign)));
        add_result(power, assigned.back(), updates);
        continue;
      }
      Endpoint product = edit_.add_output(
          {.name = name("mul"), .op = "Mul", .inputs = {power.read, beta}, .controls = updates, .colocate_with = with});
      NewNode assign{
          .name = name("Assign"), .op = "Assign", .inputs = {power.handle(), product}, .colocate_with = with};
      assign.attrs = {{"use_locking", AttrValue::of(false)}};
      assigned.push_back(edit_.add(std::move(assign)));
    }
    return assigned;
  }

  /// What Python's assign() returns: the value read back. Nobody needs it.
  void add_result(const VariableNodes& power, NodeId assign, std::vector<NodeId> after) {
    after.insert(after.begin(), assign);
    edit_.add({.name = name("ReadVariableOp"),
               .op = "ReadVariableOp",
               .inputs = {power.handle()},
               .attrs = {{"dtype", AttrValue::of(DType::kFloat)}},
               .controls = std::move(after),
               .colocate_with = {power.variable}});
  }

  std::vector<NodeId> count_iteration(const std::vector<NodeId>& updates) {
    return {increment(edit_, state_.iteration, name("AssignAdd"), name("Const"), updates)};
  }

  GraphEditor& edit_;
  const TrainRequest& request_;
  const UpdateRule& rule_;
  const OptimizerState& state_;
  const UpdatePlace& place_;
  std::vector<std::pair<std::string_view, Endpoint>> shared_;
};

}  // namespace

NodeId add_update(GraphEditor& edit, const TrainRequest& request, const UpdateRule& rule, const OptimizerState& state,
                  const std::vector<GradientAndVariable>& gradients, const UpdatePlace& place) {
  return UpdateBuilder(edit, request, rule, state, place).build(gradients);
}

NodeId count_steps(GraphEditor& edit, const VariableNodes& global_step, const std::string& name, NodeId update) {
  return increment(edit, global_step, name, cat(name, global_step.resource ? "/Const" : "/value"), {update});
}

}  // namespace emplace
