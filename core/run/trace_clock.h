/// TraceClock: time for traces, cheaper to look at than the system's clock where the processor counts at one rate on
/// all cores (9 ns against 22): what it counts becomes nanoseconds afterwards, by how far the system's clock came
/// meanwhile.
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace emplace {

class TraceClock {
 public:
  /// In units of its own, since it was made.
  int64_t now() const {
#if defined(__x86_64__)
    if (counts_) return ticks() - first_;
#endif
    return system_ns();
  }

  /// When it was made, by std::chrono::steady_clock.
  int64_t begin_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(begin_.time_since_epoch()).count();
  }

  /// How many nanoseconds a unit is, as of now.
  double ns_of_unit() const {
    const int64_t units = now();
    return counts_ && units > 0 ? static_cast<double>(system_ns()) / static_cast<double>(units) : 1;
  }

 private:
  int64_t system_ns() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin_).count();
  }
#if defined(__x86_64__)
  // __rdtsc(), without its header, which has the intrinsics of all processors.
  static int64_t ticks() { return static_cast<int64_t>(__builtin_ia32_rdtsc()); }
#endif
  /// At one rate, whatever a core does?
  static bool has_counter() {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0;
#else
    return false;
#endif
  }

  // Constant after construction.
  const bool counts_ = has_counter();
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
#if defined(__x86_64__)
  const int64_t first_ = ticks();
#endif
};

}  // namespace emplace
