#include "core/train/optimizers/optimizer_list.h"

#include "core/base/assert.h"
#include "core/base/cat.h"

namespace emplace {

#define EMPLACE_OPTIMIZER(name) Optimizer name##_optimizer();
#include "core/train/optimizers/optimizer_list.inc"
#undef EMPLACE_OPTIMIZER

namespace {

const Optimizer& named_optimizer(const TrainRequest& request) {
  const Optimizer* optimizer = find_optimizer(request.optimizer);
  EMPLACE_ASSERT(optimizer, "reading the request saw to it that the optimizer is one of optimizers()");
  return *optimizer;
}

}  // namespace

std::span<const Optimizer> optimizers() {
  static const Optimizer kAll[] = {
#define EMPLACE_OPTIMIZER(name) name##_optimizer(),
#include "core/train/optimizers/optimizer_list.inc"
#undef EMPLACE_OPTIMIZER
  };
  return kAll;
}

const Optimizer* find_optimizer(std::string_view name) {
  for (const Optimizer& o : optimizers()) {
    if (o.name == name) return &o;
  }
  return nullptr;
}

std::string optimizer_example(const Optimizer& optimizer, std::string_view name) {
  if (optimizer.arguments.empty()) return std::string(optimizer.name);
  const OptimizerArgument* found = optimizer.find(name);
  const OptimizerArgument& a = found ? *found : optimizer.arguments.front();
  const std::string value = a.is_flag ? "true" : cat(a.default_value.value_or(0.9));
  return cat(optimizer.name, ",", a.name, "=", value);
}

UpdateRule update_rule(const TrainRequest& request) {
  const Optimizer& optimizer = named_optimizer(request);
  return optimizer.rule({optimizer.arguments, request.arguments});
}

double argument(const TrainRequest& request, std::string_view name) {
  return OptimizerArguments(named_optimizer(request).arguments, request.arguments).number(name);
}

}  // namespace emplace
