/// The optimizers by name, with the arguments that each takes: names and defaults of tf.compat.v1.train, for adamw of
/// Keras.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace emplace {

struct OptimizerArgument {
  std::string_view name;
  std::optional<double> default_value;  // nothing: must be given
  bool is_flag = false;
};

struct OptimizerRow {
  std::string_view name;
  std::optional<double> learning_rate;  // the default
  std::span<const OptimizerArgument> arguments;

  const OptimizerArgument* find(std::string_view argument) const;
};

std::span<const OptimizerRow> optimizer_rows();
/// Null if there is none of that name.
const OptimizerRow* find_optimizer(std::string_view name);

}  // namespace emplace
