/// CutPrograms: programs that the tasks of one process run together. Whichever needs one first cuts it for all, and
/// each takes its part of it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "core/partition/partition.h"
#include "core/partition/task_part.h"

namespace emplace {

/// Thread-safe. Keeps the last one only: tasks need them in the same order.
class CutPrograms {
 public:
  using Cut = std::function<Result<std::shared_ptr<const WholeProgram>>()>;
  /// Waits while another task cuts. REQUIRES: `cut` cuts it for this request.
  Result<std::shared_ptr<const WholeProgram>> find(const StepRequest& request, const PartitionOptions& how,
                                                   const Cut& cut);
  /// All tasks have their parts.
  void clear();

 private:
  std::mutex mutex_;
  // Guarded by mutex_.
  StepRequest request_;
  PartitionOptions how_;
  std::shared_ptr<const WholeProgram> last_;
};

}  // namespace emplace
