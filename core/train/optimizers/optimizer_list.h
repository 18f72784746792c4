/// The optimizers by name. A new one is a file beside this one and a line of optimizer_list.inc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/train/optimizers/optimizer.h"

namespace emplace {

std::span<const Optimizer> optimizers();
/// Null if there is none of that name.
const Optimizer* find_optimizer(std::string_view name);
/// "momentum,momentum=0.9": how --optimizer gives an argument; without `name`, the first one.
std::string optimizer_example(const Optimizer& optimizer, std::string_view name = {});

/// REQUIRES: the request names an optimizer.
UpdateRule update_rule(const TrainRequest& request);
/// The request's, or the default. REQUIRES: likewise, and that it has the argument.
double argument(const TrainRequest& request, std::string_view name);

}  // namespace emplace
