/// Optimizer: all that is to say about one, as one value: its name, the arguments that it takes, and its rule: the
/// state that it keeps of a variable, the kernel that updates the variable, and what that kernel reads. Formulas are
/// the kernels' (ApplyAdam ...); names, defaults and first values are those of tf.compat.v1.train's optimizers, for
/// adamw those of Keras.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/train/train_request.h"

namespace emplace {

/// How tf.constant_initializer names what it makes.
inline constexpr std::string_view kConstantInitializer = "Const";

/// A variable of the same shape beside each trained one.
struct SlotRule {
  std::string_view key;          // how `operands` calls it
  std::string_view name;         // "Adam": the variable w/Adam, w/Adam_1 if it is the second of that name
  std::string_view initializer;  // "zeros", "ones" or kConstantInitializer: the node w/Adam/Initializer/zeros
  double first = 0;
};

/// A variable of one number for all trained ones: it starts at the argument and is multiplied by it after each step.
struct PowerRule {
  std::string_view name;      // "beta1_power"
  std::string_view argument;  // "beta1"
};

class RowUpdate;

struct UpdateRule {
  std::string_view op;          // "ApplyAdam"; of a resource variable "ResourceApplyAdam"
  std::vector<SlotRule> slots;  // in the order in which they are made
  std::vector<PowerRule> powers;
  std::vector<std::string_view> constants;  // arguments that are constants of the graph: train/beta1
  /// "variable", "gradient", "learning_rate", a slot's key, a power's name or a constant, in the kernel's order.
  std::vector<std::string_view> operands;
  std::vector<std::pair<std::string_view, bool>> flags;  // attrs
  /// Keras' way: slots are named adam_w/w_momentum, the powers follow from a count of steps (adam_w/iteration), and
  /// the variable shrinks by learning rate times weight decay before its update.
  bool is_keras = false;
  /// What goes off the rows that have a gradient when others keep value and slots, as TensorFlow's SparseApply...
  /// kernels do (row_update.h). Null: a row without a gradient is one whose gradient is 0.
  Endpoint (*rows_step)(RowUpdate&) = nullptr;
  /// The same in one op, where that has a kernel on every device: "SparseApplyAdagrad", with `operands`, and
  /// the rows behind the gradient.
  std::string_view rows_op = {};
  bool updates_rows() const { return rows_step != nullptr || !rows_op.empty(); }
};

struct OptimizerArgument {
  std::string_view name;
  std::optional<double> default_value;  // nothing: must be given
  bool is_flag = false;
};

/// What a request says of an optimizer's arguments; their defaults where it says nothing.
class OptimizerArguments {
 public:
  OptimizerArguments(const std::vector<OptimizerArgument>& known, const std::vector<NamedNumbers>& given)
      : known_(known), given_(given) {}
  /// REQUIRES: the optimizer has the argument.
  double number(std::string_view name) const;
  bool flag(std::string_view name) const { return number(name) != 0; }

 private:
  const std::vector<OptimizerArgument>& known_;
  const std::vector<NamedNumbers>& given_;
};

struct Optimizer {
  std::string_view name;
  std::optional<double> learning_rate;  // the default
  std::vector<OptimizerArgument> arguments;
  UpdateRule (*rule)(const OptimizerArguments&) = nullptr;

  /// Null if it has none of that name.
  const OptimizerArgument* find(std::string_view argument) const;
};

}  // namespace emplace
