/// RowUpdate: an optimizer's step for those rows of a variable and of its slots that a gradient in slices names, in
/// graph ops that every device has. What it computes is that of TensorFlow's SparseApply... kernels: slices of one row
/// are added up first, and other rows stay as they are.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/train/optimizers/gradient_and_variable.h"
#include "core/train/optimizers/optimizer.h"

namespace emplace {

class RowUpdate {
 public:
  /// REQUIRES: `g.is_slices()`. `operand`: the learning rate or a constant of the rule, in the variable's type.
  RowUpdate(GraphEditor& edit, const UpdateRule& rule, const GradientAndVariable& g,
            const std::vector<VariableNodes>& slots, std::string scope,
            std::function<Endpoint(std::string_view)> operand);

  /// One slice a row.
  Endpoint gradient() const { return gradient_; }
  Endpoint operand(std::string_view key) const { return operand_(key); }
  bool flag(std::string_view name) const;
  bool has_slot(std::string_view key) const;
  /// The rows of a slot before this step, and their new values.
  Endpoint slot(std::string_view key);
  void set_slot(std::string_view key, Endpoint value);
  /// The step by one op, which reads what the rule's operands say, and the rows.
  void apply(std::string_view kind);
  /// variable[rows] -= step.
  void subtract(Endpoint step);

  Endpoint op(std::string_view kind, std::vector<Endpoint> inputs);
  Endpoint add(Endpoint x, Endpoint y) { return op("AddV2", {x, y}); }
  Endpoint sub(Endpoint x, Endpoint y) { return op("Sub", {x, y}); }
  Endpoint mul(Endpoint x, Endpoint y) { return op("Mul", {x, y}); }

  /// The nodes that change the variable and its slots.
  const std::vector<NodeId>& writes() const { return writes_; }

 private:
  const VariableNodes& slot_nodes(std::string_view key) const;
  void write(std::string_view kind, Endpoint handle, bool resource, Endpoint value);

  GraphEditor& edit_;
  const UpdateRule& rule_;
  const TrainVariable& variable_;
  const std::vector<VariableNodes>& slots_;
  std::string scope_;
  std::function<Endpoint(std::string_view)> operand_;
  Endpoint rows_, gradient_;
  std::vector<NodeId> writes_;
};

/// The slices added up in a tensor of the variable's shape.
Endpoint densify_rows(GraphEditor& edit, const GradientAndVariable& g, const std::string& scope);

}  // namespace emplace
