// Towers whose tasks are lost.
#include "core/train/tower_loops.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <mutex>

#include "core/base/exit_code.h"
#include "tests/unit/train/idle_session.h"

namespace emplace {
namespace {

/// Runs callables by this function alone.
class StepsOnly final : public IdleSession {
 public:
  explicit StepsOnly(std::function<Status(int)> run) : run_(std::move(run)) {}
  Status run_step(int callable, const std::vector<Tensor>&, std::vector<Tensor>&) override { return run_(callable); }

 private:
  const std::function<Status(int)> run_;
};

Status lost_task() { return unavailable("peer lost").blamed(kBlamePeer); }

/// Deals the batches 0, 1, ...; keeps which of them were done, and how many towers were lost.
struct Dealt {
  int64_t left;
  std::vector<int64_t> done = {};
  int lost = 0;

  TowerLoops::Calls calls() {
    return {[this](Batch& batch) -> Result<bool> {
              if (left == 0) return false;
              batch.rows = {--left};
              return true;
            },
            [this](size_t, const Batch& batch, const std::vector<Tensor>&) {
              done.push_back(batch.rows[0]);
              return ok_status();
            },
            [this](const Status&) { ++lost; }};
  }
  /// Each of the first `count` batches once?
  bool whole(int64_t count) {
    std::sort(done.begin(), done.end());
    for (int64_t i = 0; i < count; ++i) {
      if (done.size() != static_cast<size_t>(count) || done[static_cast<size_t>(i)] != i) return false;
    }
    return true;
  }
};

}  // namespace

TEST_CASE("the batch of a lost tower is taken by another, and the tower by none, also in a later run") {
  for (int at : {0, 3, 9}) {
    std::mutex mutex;
    int steps = 0, of_tower_1 = 0;
    StepsOnly session([&](int tower) -> Status {
      std::lock_guard lock(mutex);
      of_tower_1 += tower == 1;
      return tower == 1 && steps++ >= at ? lost_task() : ok_status();
    });
    StalenessGate gate(3, 1);
    TowerLoops loops(session, {0, 1, 2}, gate);
    Dealt first{40}, second{20};
    CHECK(loops.run(first.calls()).ok());
    CHECK(first.whole(40));
    const int before = of_tower_1;
    const bool was_lost = first.lost == 1;
    CHECK(loops.run(second.calls()).ok());
    CHECK(second.whole(20));
    if (was_lost) CHECK(of_tower_1 == before);
  }
}

TEST_CASE("that the last tower is lost, or another failure, ends the loops") {
  StepsOnly gone([](int) { return lost_task(); });
  StalenessGate gate(2, -1);
  TowerLoops all(gone, {0, 1}, gate);
  Dealt dealt{5};
  CHECK(all.run(dealt.calls()).blame() == kBlamePeer);
  CHECK(dealt.lost == 1);
  CHECK(dealt.done.empty());

  StepsOnly broken([](int) { return invalid_argument("broken"); });
  TowerLoops others(broken, {0, 1}, gate);
  Dealt again{5};
  CHECK(others.run(again.calls()).message() == "broken");
  CHECK(others.failed_batch().has_value());
}

}  // namespace emplace
