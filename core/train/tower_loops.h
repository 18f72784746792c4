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
  /// `callables`: the step of each tower, one that may run apart (Session::add_step()). Both must outlive this.
  TowerLoops(Session& session, std::vector<int> callables, StalenessGate& gate)
      : session_(session), callables_(std::move(callables)), gate_(gate), lost_(callables_.size()) {}

  struct Calls {
    std::function<Result<bool>(Batch&)> next;  // the next batch, or false: there is none
    std::function<Status(size_t tower, const Batch&, const std::vector<Tensor>&)> done;  // of steps, as they end
    std::function<void(const Status&)> lost;  // a tower, with its task; others are left
  };
  /// Whoever is ready takes the next batch, until there is none or something fails. The task of a tower may be lost:
  /// another tower takes its batch, and it takes no other one, now and later; that the last one is lost is a failure.
  /// The functions are called by one thread at a time. Returns when every loop has ended: the first error.
  Status run(const Calls& calls);

  /// Of the step that gave the first error, if a step did.
  std::optional<Batch>& failed_batch() { return failed_batch_; }

 private:
  struct Run;
  void loop(Run& run, size_t tower);
  bool is_last(size_t tower) const;

  Session& session_;
  const std::vector<int> callables_;
  StalenessGate& gate_;
  std::vector<bool> lost_;  // by tower
  std::optional<Batch> failed_batch_;
};

}  // namespace emplace
