/// Executor: a planned program bound to memory and kernels, ready to be run again and again.
///
/// Steps whose tensors all have a fixed place are launched from a flat array; the others (slots, dead tensors, shapes
/// that only a run knows, loops) go through run_step().
#pragma once

#include <memory>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/rule_context.h"
#include "core/run/runtime.h"

namespace emplace {

class Executor {
 public:
  /// All arguments must outlive it. `blocks`: the memory of each device's planned tensors, by DeviceId.
  Executor(const GraphFile& file, const Program& program, const Plan& plan, Runtime& runtime,
           std::vector<std::byte*> blocks);

  /// Makes the kernels, places constants, prepares what is settled. Before the first run().
  Status bind();
  /// One step.
  Status run(int64_t step);
  /// Fetch `i` in host memory. `out` is written over where it fits and nobody else holds it.
  Status fetch(size_t i, Tensor& out);

  int64_t copy_bytes() const { return copy_bytes_; }

 private:
  /// A node's kernel and what it sees. Inputs and outputs are this step's part of `operands_`.
  struct Bound {
    std::unique_ptr<Kernel> kernel;
    KernelContext context;
    std::vector<Shape> prepared_for;  // input shapes of the last prepare(); kDynamic only
    bool prepared = false;
  };
  struct Launch {
    Kernel* kernel;  // null: run_step
    KernelContext* context;
    StepId step;
  };

  Status place_values();
  Status make_kernel(StepId id);
  void bind_operands(StepId id);
  void list_releases();
  Status prepare_planned(StepId id);

  Status run_range(StepId begin, StepId end);
  Status run_step(StepId id);
  Status run_loop(StepId id);
  Status run_kernel(StepId id);
  Status gather(StepId id);
  Status settle_outputs(StepId id);
  void scatter(StepId id);
  void release(StepId id);
  bool is_dead(const Step& s) const;
  void mark_dead(StepId id);
  Status failed(Status status, StepId id) const;

  const GraphFile& file_;
  const Graph& graph_;
  const Program& program_;
  const Plan& plan_;
  Runtime& runtime_;
  std::vector<std::byte*> blocks_;

  // By StepId, ValueId and operand index.
  std::vector<Bound> bound_;
  std::vector<Tensor> values_;
  std::vector<Tensor> operands_;
  std::vector<Launch> launches_;  // of the program outside of loops

  // State of a step.
  std::vector<uint8_t> value_dead_, step_dead_;
  std::vector<std::vector<ValueId>> releases_;  // by StepId: slots that nobody reads afterwards
  RuleContext rule_;
  int64_t settled_copy_bytes_ = 0;  // of copies that take the same bytes each step
  int64_t copy_bytes_ = 0;          // of the last step
};

}  // namespace emplace
