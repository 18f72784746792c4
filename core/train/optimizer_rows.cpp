#include "core/train/optimizer_rows.h"

#include "core/base/assert.h"
#include "core/train/train_request.h"

namespace emplace {
namespace {

constexpr OptimizerArgument kMomentum[] = {{"momentum", std::nullopt}, {"use_nesterov", 0, true}};
constexpr OptimizerArgument kAdam[] = {{"beta1", 0.9}, {"beta2", 0.999}, {"epsilon", 1e-8}};
constexpr OptimizerArgument kAdagrad[] = {{"initial_accumulator_value", 0.1}};
constexpr OptimizerArgument kRmsProp[] = {{"decay", 0.9}, {"momentum", 0}, {"epsilon", 1e-10}, {"centered", 0, true}};
constexpr OptimizerArgument kAdamW[] = {{"weight_decay", 0.004}, {"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}};

constexpr OptimizerRow kRows[] = {
    {"sgd", std::nullopt, {}},           {"momentum", std::nullopt, kMomentum}, {"adam", 0.001, kAdam},
    {"adagrad", std::nullopt, kAdagrad}, {"rmsprop", std::nullopt, kRmsProp},   {"adamw", 0.001, kAdamW},
};

}  // namespace

const OptimizerArgument* OptimizerRow::find(std::string_view argument) const {
  for (const OptimizerArgument& a : arguments) {
    if (a.name == argument) return &a;
  }
  return nullptr;
}

std::span<const OptimizerRow> optimizer_rows() { return kRows; }

const OptimizerRow* find_optimizer(std::string_view name) {
  for (const OptimizerRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

double argument(const TrainRequest& request, std::string_view name) {
  for (const NamedNumbers& given : request.arguments) {
    if (given.name == name) return given.values.front();
  }
  const OptimizerRow* row = find_optimizer(request.optimizer);
  const OptimizerArgument* known = row ? row->find(name) : nullptr;
  EMPLACE_ASSERT(known && known->default_value, "reading the request saw to it that what has no default is given");
  return *known->default_value;
}

}  // namespace emplace
