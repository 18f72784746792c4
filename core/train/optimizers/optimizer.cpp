#include "core/train/optimizers/optimizer.h"

#include "core/base/assert.h"

namespace emplace {

double OptimizerArguments::number(std::string_view name) const {
  for (const NamedNumbers& given : given_) {
    if (given.name == name) return given.values.front();
  }
  for (const OptimizerArgument& a : known_) {
    if (a.name != name) continue;
    EMPLACE_ASSERT(a.default_value, "reading the request saw to it that what has no default is given");
    return *a.default_value;
  }
  EMPLACE_ASSERT(false, "an optimizer asks for its own arguments");
  return 0;
}

const OptimizerArgument* Optimizer::find(std::string_view argument) const {
  for (const OptimizerArgument& a : arguments) {
    if (a.name == argument) return &a;
  }
  return nullptr;
}

}  // namespace emplace
