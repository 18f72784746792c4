#include "cli/pace.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cli/elapsed.h"
#include "core/run/thread_pool.h"

namespace emplace {
namespace {

// In lines of their own: where a loop lies can be worth a tenth, and every build should measure the same.
[[gnu::noinline, gnu::aligned(64)]] double chain_us() {
  constexpr int kRounds = 4000;
  uint64_t value = 1;
  const auto start = Clock::now();
  for (int i = 0; i < kRounds; ++i) {
    value = value * 3 + 1;
    asm volatile("" : "+r"(value));  // worked out each round
  }
  return us_since(start);
}

[[gnu::noinline, gnu::aligned(64)]] double ports_us() {
  constexpr int kRounds = 4000;
  uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
  const auto start = Clock::now();
  for (int i = 0; i < kRounds; ++i) {
    a += b, c += d, e += f;
    b ^= 3, d ^= 5, f ^= 7;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  }
  return us_since(start);
}

}  // namespace

double measure_pace_us() {
  const auto once = [] { return chain_us() + ports_us(); };
  const double first = once();
  return std::min(first, once());  // an interrupt is not in both
}

double measure_pace_us(int threads) {
  if (threads < 2) return measure_pace_us();
  struct Paces {
    int wanted;
    std::atomic<int> here{0};
    std::atomic<double> slowest{0};
  } paces{threads};
  const auto measure = [](void* closure, int64_t) {
    constexpr double kWakeUs = 200;
    Paces& p = *static_cast<Paces*>(closure);
    p.here.fetch_add(1);
    const auto start = Clock::now();
    while (p.here.load() < p.wanted && us_since(start) < kWakeUs) {
    }
    const double came = std::min(p.here.load(), p.wanted);
    const double us = measure_pace_us() * p.wanted / came;
    for (double seen = p.slowest; seen < us && !p.slowest.compare_exchange_weak(seen, us);) {
    }
  };
  ThreadPool::shared().run(threads, threads, true, measure, &paces);
  return paces.slowest;
}

}  // namespace emplace
