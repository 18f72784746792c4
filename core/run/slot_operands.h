/// SlotOperands: how an instruction gets its operands where they have no fixed place: inputs as they are at the moment,
/// outputs of the shapes that these give, and results handed on to whoever reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/run/prepared_program.h"

namespace emplace {

/// Of one step at a time; instructions that have nothing to do with each other may come from several threads.
/// What a read of a variable says whose shape is not the declared one, which the plan relies on.
Status other_shape(size_t input, const Shape& found, const Shape& planned);

class SlotOperands {
 public:
  /// `p` must outlive it.
  explicit SlotOperands(PreparedProgram& p);
  /// After the memory plan, which says who reads a slot last.
  void list_releases();

  /// Inputs as they are now; a reference is read where the op wants a value.
  Status gather(InstructionId id);
  /// With simulated GPUs: is each of the gathered inputs in the memory where it belongs?
  Status check_inputs(InstructionId id) const;
  /// The same in a plain loop, where nothing is dead: what nobody reads behind this instruction is moved, and what is
  /// kept longer than the iteration is copied out of the block.
  Status gather_in_plain_loop(InstructionId id);
  /// Shapes and storage of the outputs, and the kernel prepared for them. A planned instruction has both, but for what
  /// its kernel provides.
  Status settle_outputs(InstructionId id);
  /// After the kernel: its outputs are the values now.
  void scatter(InstructionId id);
  void let_go_of_inputs(InstructionId id) {
    for (Tensor& t : p_.bound[id].context.inputs_) t = Tensor();
  }
  /// Empties the slots that nobody reads behind this instruction.
  void release(InstructionId id) {
    for (ValueId v : releases_[id]) p_.values[v] = Tensor();
  }

  /// Has the value not been made in this step, because what makes it did not run?
  bool is_dead(ValueId v) const { return dead_[v] != 0; }
  void set_dead(ValueId v, bool dead) { dead_[v] = dead; }

  /// By InstructionId: the slots that release() empties.
  const std::vector<std::vector<ValueId>>& releases() const { return releases_; }

 private:
  bool is_released(ValueId v, InstructionId id) const;
  void list_last_reads();

  /// Shapes of the outputs by the op's rule; null: there is none to ask.
  Result<const std::vector<Shape>*> shapes_by_rule(InstructionId id, const OpDef* def);
  bool is_prepared_for_inputs(InstructionId id, const OpDef* def) const;
  Status infer_shapes(InstructionId id, const NodeType& type);
  Status allocate_output(InstructionId id, size_t i, const PlacedValue& value, const Shape& shape);
  Status prepare_for_inputs(InstructionId id, const OpDef* def);

  PreparedProgram& p_;
  std::vector<uint8_t> dead_;                   // by ValueId
  std::vector<std::vector<ValueId>> releases_;  // by InstructionId
  Status copy_out(InstructionId id, Tensor& value);

  std::vector<uint8_t> keeps_;        // by InstructionId, of plain loops: see keeps_inputs()
  std::vector<uint64_t> last_reads_;  // by InstructionId, of plain loops: a bit for each input that is released
};

}  // namespace emplace
