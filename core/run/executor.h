/// Executor: a program made ready to run, and run, step after step. It only puts together the parts that do the work:
/// core/run/prepared_program.h says which they are and what each is for.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/run/fetcher.h"
#include "core/run/frame_interpreter.h"
#include "core/run/gpu_launcher.h"
#include "core/run/launch_list.h"
#include "core/run/prepared_program.h"

namespace emplace {

/// One step at a time.
class Executor {
 public:
  /// All arguments must outlive it.
  Executor(const GraphFile& file, const DeviceSet& devices, Program program, Runtime& runtime, ProgramThreads threads);

  /// Plans: settles shapes, places constants, makes and prepares kernels, finds what can be fused, lays out memory.
  Status prepare(const std::vector<Tensor>& feeds);
  /// Binds to the memory of the planned tensors, by DeviceId. After prepare().
  Status bind(const std::vector<std::byte*>& blocks);

  /// One step.
  Status run(int64_t step);
  /// The program's fetches in host memory, see Fetcher.
  Status fetch(std::vector<Tensor>& outputs) { return fetcher_.fetch(outputs); }

  const Program& program() const { return prepared_.program; }
  const Plan& plan() const { return prepared_.plan; }
  /// After bind().
  StepFacts facts() const { return launches_.facts(); }
  /// Has a step begun? From then on the pools know what kernels take.
  bool has_run() const { return has_run_; }
  /// Of the last step.
  int64_t copy_bytes() const { return has_run_ ? settled_copy_bytes_ + interpreter_.copy_bytes : 0; }

 private:
  PreparedProgram prepared_;
  std::unique_ptr<ObserverFeed> feed_;  // null: nobody watches
  SlotOperands operands_;
  FrameInterpreter interpreter_;
  GpuLauncher gpu_;
  LaunchList launches_;
  Fetcher fetcher_;
  int64_t settled_copy_bytes_ = 0;  // of copies that take the same bytes in each step
  std::atomic<bool> has_run_{false};
};

}  // namespace emplace
