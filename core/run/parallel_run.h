/// ParallelRun: a schedule's nodes on several threads of the pool.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "core/run/schedule.h"
#include "core/run/thread_pool.h"

namespace emplace {

class ParallelRun {
 public:
  ParallelRun(const Schedule& schedule, int threads);

  /// Calls run_node(instruction) for every node once its sources are done. The failure of the smallest instruction is
  /// returned, or what it threw is thrown; everything before it has run, as in instruction order.
  template <class F>
  Status run(const F& run_node) {
    return run_erased([](const void* f, InstructionId instruction) { return (*static_cast<const F*>(f))(instruction); },
                      &run_node);
  }

 private:
  using RunNode = Status (*)(const void* closure, InstructionId instruction);
  Status run_erased(RunNode run_node, const void* closure);
  void work();
  bool take(uint32_t& node);
  void run_one(uint32_t node, bool skipped);
  void complete(uint32_t node, Status status, std::exception_ptr thrown);

  const Schedule& schedule_;
  int threads_;
  std::unique_ptr<std::atomic<uint32_t>[]> waiting_for_;  // by node: sources not done
  std::atomic<uint32_t> left_{0};
  RunNode run_node_ = nullptr;
  const void* closure_ = nullptr;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<uint32_t> ready_;  // a heap by rank
  uint32_t failed_ = ~uint32_t{0};
  Status failure_;
  std::exception_ptr thrown_;  // instead of a Status
};

}  // namespace emplace
