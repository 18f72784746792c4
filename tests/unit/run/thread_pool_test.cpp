#include "core/run/thread_pool.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace emplace;

namespace {
std::vector<std::pair<int64_t, int64_t>> pieces(int threads, int64_t n, double cost) {
  PoolParallel parallel;
  parallel.configure(threads, nullptr);
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> all;
  parallel.run(n, cost, [&](int64_t b, int64_t e) {
    std::lock_guard lock(mutex);
    all.emplace_back(b, e);
  });
  std::sort(all.begin(), all.end());
  return all;
}
}  // namespace

TEST_CASE("the pieces of a loop cover it and do not depend on the number of threads") {
  for (int64_t n : {1, 7, 1000, 12345}) {
    auto one = pieces(1, n, 1000), many = pieces(4, n, 1000);
    CHECK(one == many);
    int64_t next = 0;
    for (auto [b, e] : one) {
      CHECK(b == next);
      next = e;
    }
    CHECK(next == n);
  }
  CHECK(pieces(4, 0, 1000).empty());
  CHECK(pieces(4, 1000, 1).size() == 1);  // a microsecond is not worth sharing
}

TEST_CASE("loops inside loops end, also with more of them than threads") {
  PoolParallel parallel;
  parallel.configure(ThreadPool::shared().size(), nullptr);
  std::atomic<int64_t> sum{0};
  parallel.run(64, 1e6, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) parallel.run(50, 1e6, [&](int64_t b2, int64_t e2) { sum += e2 - b2; });
  });
  CHECK(sum == 64 * 50);
}

TEST_CASE("a loop that is told to stop skips what has not begun") {
  std::atomic<bool> interrupted{true};
  StopSignal stop;
  stop.flag = &interrupted;
  PoolParallel parallel;
  parallel.configure(2, &stop);
  std::atomic<int64_t> count{0};
  parallel.run(1000, 1e6, [&](int64_t b, int64_t e) { count += e - b; });
  CHECK(count == 0);
}

TEST_CASE("what a piece throws on any thread comes to the caller, once all pieces have ended") {
  PoolParallel parallel;
  parallel.configure(ThreadPool::shared().size(), nullptr);
  for (int64_t thrower = 0; thrower < 64; ++thrower) {
    std::atomic<int64_t> ended{0};
    const auto run = [&] {
      parallel.run(64, 1e6, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i) {
          if (i == thrower) throw std::bad_alloc();
          ++ended;
        }
      });
    };
    CHECK_THROWS_AS(run(), std::bad_alloc);
    CHECK(ended == 63);
  }
}
