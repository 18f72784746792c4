#include "core/train/optimizers/optimizer_state.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/train/optimizers/optimizer_list.h"

namespace emplace {
namespace {

/// Makes the state for one set of variables.
class StateMaker {
 public:
  StateMaker(GraphEditor& edit, const TrainRequest& request, const UpdateRule& rule, const OptimizerState* original,
             std::string_view suffix)
      : edit_(edit), request_(request), rule_(rule), original_(original), suffix_(suffix) {}

  OptimizerState make(const std::vector<TrainVariable>& variables) {
    OptimizerState state;
    // As Python compares the names of tensors: ':' sorts after digits.
    auto by_name = [](const TrainVariable& a, const TrainVariable& b) { return cat(a.name, ":0") < cat(b.name, ":0"); };
    const TrainVariable& first = *std::min_element(variables.begin(), variables.end(), by_name);
    if (rule_.is_keras)
      state.iteration =
          scalar("adam_w/iteration", original_ ? &original_->iteration : nullptr, scalar_of(DType::kInt64, 0), first);
    for (size_t i = 0; !rule_.is_keras && i < rule_.powers.size(); ++i) {
      Tensor start = scalar_of(DType::kFloat, argument(request_, rule_.powers[i].argument));
      state.powers.push_back(
          scalar(rule_.powers[i].name, original_ ? &original_->powers[i] : nullptr, std::move(start), first));
    }
    for (size_t v = 0; v < variables.size(); ++v) {
      auto& slots = state.slots.emplace_back();
      for (size_t s = 0; s < rule_.slots.size(); ++s)
        slots.push_back(slot(variables[v], rule_.slots[s], original_ ? &original_->slots[v][s] : nullptr));
    }
    return state;
  }

 private:
  std::string name(std::string_view wanted, const VariableNodes* original) const {
    return original ? cat(edit_.graph().name(original->variable), suffix_) : free_name(edit_, wanted);
  }

  VariableNodes scalar(std::string_view wanted, const VariableNodes* original, Tensor start,
                       const TrainVariable& with) {
    return add_scalar_variable(edit_, name(wanted, original), std::move(start), with.resource, {with.node}, {});
  }

  VariableNodes slot(const TrainVariable& variable, const SlotRule& slot, const VariableNodes* original) {
    NewVariable v;
    v.name = name(slot_name(variable, slot), original);
    v.resource = variable.resource;
    v.dtype = variable.dtype;
    v.shape = variable.shape;
    v.first = {cat("Initializer/", slot.initializer), slot.first, slot.initializer != kConstantInitializer, {}};
    v.colocate_with = {variable.node};
    return add_variable(edit_, v);
  }

  std::string slot_name(const TrainVariable& variable, const SlotRule& slot) const {
    if (!rule_.is_keras) return cat(variable.name, "/", slot.name);
    std::string owner = variable.name;
    std::replace(owner.begin(), owner.end(), '/', '_');
    return cat("adam_w/", owner, "_", slot.name);
  }

  GraphEditor& edit_;
  const TrainRequest& request_;
  const UpdateRule& rule_;
  const OptimizerState* original_;
  std::string_view suffix_;
};

}  // namespace

std::vector<VariableNodes> OptimizerState::all() const {
  std::vector<VariableNodes> out = powers;
  if (iteration.variable != kNoNode) out.push_back(iteration);
  for (const auto& of_variable : slots) out.insert(out.end(), of_variable.begin(), of_variable.end());
  return out;
}

OptimizerState add_optimizer_state(GraphEditor& edit, const TrainRequest& request, const UpdateRule& rule,
                                   const std::vector<TrainVariable>& variables) {
  return StateMaker(edit, request, rule, nullptr, {}).make(variables);
}

OptimizerState copy_optimizer_state(GraphEditor& edit, const TrainRequest& request, const UpdateRule& rule,
                                    const std::vector<TrainVariable>& copies, const OptimizerState& original,
                                    std::string_view suffix) {
  return StateMaker(edit, request, rule, &original, suffix).make(copies);
}

}  // namespace emplace
