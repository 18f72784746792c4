#include "cli/pace.h"

#include <algorithm>
#include <cstdint>

#include "cli/elapsed.h"

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

}  // namespace emplace
