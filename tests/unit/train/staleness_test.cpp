#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "core/train/staleness.h"

namespace emplace {

TEST_CASE("staleness is what others updated during a step") {
  StalenessGate gate(2, -1);
  gate.begin(0);
  gate.begin(1);
  gate.end(1);
  gate.begin(1);
  gate.end(1);
  gate.end(0);
  CHECK(gate.histogram() == std::map<int64_t, int64_t>{{0, 2}, {2, 1}});
}

TEST_CASE("a bound on staleness holds however fast one tower is") {
  for (int64_t bound : {0, 1, 3}) {
    StalenessGate gate(3, bound);
    std::atomic<int64_t> running{0}, most{0};
    auto loop = [&](size_t tower) {
      for (int i = 0; i < 200; ++i) {
        gate.begin(tower);
        int64_t now = ++running;
        for (int64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        if (tower == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
        --running;
        gate.end(tower);
      }
    };
    std::thread one(loop, 1), two(loop, 2);
    loop(0);
    one.join();
    two.join();
    int64_t steps = 0;
    for (const auto& [staleness, count] : gate.histogram()) {
      CHECK(staleness <= bound);
      steps += count;
    }
    CHECK(steps == 600);
    CHECK(most <= bound + 1);
  }
}

}  // namespace emplace
