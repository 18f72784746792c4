/// ObserverFeed: tells an observer (core/run/observer.h) what each instruction of a program made.
#pragma once

#include <span>
#include <vector>

#include "core/run/observer.h"
#include "core/run/prepared_program.h"

namespace emplace {

/// One thread.
class ObserverFeed {
 public:
  /// Both must outlive it.
  ObserverFeed(PreparedProgram& p, RunObserver& observer) : p_(p), observer_(observer) {}

  /// A step begins.
  void begin() { met_.clear(); }
  void starting(InstructionId id) { observer_.starting(observed(id)); }
  /// The members of a collective, which are done together, are shown when the last has run.
  Status finished(InstructionId id, std::span<const Tensor> outputs);
  /// Nothing runs: a constant, or a node that hands its input on.
  Status skipped(InstructionId id);

 private:
  struct Met {
    InstructionId instruction;
    std::vector<Tensor> outputs;
  };
  ObservedInstruction observed(InstructionId id) const;
  Status show(InstructionId id, std::vector<Tensor> outputs);

  PreparedProgram& p_;
  RunObserver& observer_;
  std::vector<Met> met_;  // members of a collective that have run, but not the last
};

}  // namespace emplace
