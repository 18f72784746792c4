/// TowerLoops: the towers of ps-async, each a loop of its own on a thread of its own, over one stream of batches.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/run/session.h"
#include "core/train/batches.h"
#include "core/train/staleness.h"

namespace emplace {

class TowerLoops {
 public:
  /// `kinds`: the step of each tower, one that may run apart (Session::add_step()). Both must outlive this.
  TowerLoops(Session& session, std::vector<int> kinds, StalenessGate& gate)
      : session_(session), kinds_(std::move(kinds)), gate_(gate) {}

  /// Whoever is ready takes the next batch, until there is none (false) or something fails; `done` hears of each step,
  /// in the order of their ends. Both are called by one thread at a time. Returns when every loop has ended: the first
  /// error.
  Status run(const std::function<Result<bool>(Batch&)>& next,
             const std::function<Status(const Batch&, const std::vector<Tensor>&)>& done);

  /// Of the step that gave the first error, if a step did.
  std::optional<Batch>& failed_batch() { return failed_batch_; }

 private:
  Session& session_;
  const std::vector<int> kinds_;
  StalenessGate& gate_;
  std::optional<Batch> failed_batch_;
};

}  // namespace emplace
