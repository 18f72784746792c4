/// LossReports: what a task's part of a session has lost on its way to others, until whoever leads the session asks.
/// The answer goes by the connection that the question came by: it arrives even where this task does not find the
/// master.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "core/base/status.h"

namespace emplace {

/// Thread-safe.
class LossReports {
 public:
  /// Called once, without a lock. `why` OK: the session is over, and nothing more will be told.
  using Told = std::function<void(uint64_t step, const Status& why)>;

  /// `told` hears of the next loss, or of one that nobody has heard of yet. Who waits already hears that it is over.
  /// `who`: by which to let go of it.
  void next(const void* who, Told told);
  /// The first of a step counts, and the last step.
  void tell(uint64_t step, const Status& why);
  /// It does not wait any longer, and hears so.
  void let_go(const void* who);
  /// The session is over.
  void close();

 private:
  struct Loss {
    uint64_t step;
    Status why;
  };
  struct Waiting {
    const void* who;
    Told told;
  };

  std::mutex mutex_;
  // Guarded by mutex_.
  std::optional<Waiting> waiting_;
  std::optional<Loss> untold_;
  bool closed_ = false;
};

}  // namespace emplace
