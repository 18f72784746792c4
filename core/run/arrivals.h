/// Arrivals: kernels that are launched directly although they read variables. The plan relies on the declared shape of
/// those; their values are found at each launch, and one of another shape is refused.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/run/prepared_program.h"

namespace emplace {

class Arrivals final : public Kernel {
 public:
  /// For a launch of `kernel`, which has these instructions in one. Null if none of them reads what arrives; else to be
  /// launched in its place. All must outlive it. `releases`: by instruction, the slots to be emptied after it.
  static std::unique_ptr<Arrivals> find(PreparedProgram& p, std::span<const InstructionId> instructions, Kernel& kernel,
                                        const std::vector<std::vector<ValueId>>& releases);

  /// `c`: of the launch's first instruction.
  Status run(KernelContext& c) override;

 private:
  /// An operand that is written at each launch. In a group there is one for each value, and all of those that kernels
  /// look at themselves.
  struct Operand {
    ValueId value;  // where it is found
    InstructionId reader;
    uint32_t input;
    bool is_first;  // of its value
  };
  explicit Arrivals(PreparedProgram& p, Kernel& kernel) : p_(p), kernel_(kernel) {}
  Status take(const Operand& operand);

  PreparedProgram& p_;
  Kernel& kernel_;
  std::vector<Operand> operands_;
  std::vector<ValueId> released_;
};

}  // namespace emplace
