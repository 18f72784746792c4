/// How long something has taken so far.
#pragma once

#include <chrono>

namespace emplace {

using Clock = std::chrono::steady_clock;

inline double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace emplace
