#include <barrier>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "core/base/fair_mutex.h"

namespace emplace {

TEST_CASE("a fair mutex keeps others out and lets nobody in twice while someone waits") {
  FairMutex mutex;
  std::vector<int> order;  // guarded by mutex
  std::barrier both(2);
  auto loop = [&](int who) {
    both.arrive_and_wait();  // on a busy machine one would be done before the other has begun
    for (int i = 0; i < 50; ++i) {
      mutex.lock();
      order.push_back(who);
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // long enough for the other to be in line
      mutex.unlock();
    }
  };
  std::thread other(loop, 1);
  loop(0);
  other.join();
  REQUIRE(order.size() == 100);
  int changes = 0;
  for (size_t i = 1; i < order.size(); ++i) changes += order[i] != order[i - 1];
  CHECK(changes > 20);  // of 99; 1 if who has just left gets it again
}

}  // namespace emplace
