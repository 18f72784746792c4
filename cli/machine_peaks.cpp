#include "cli/machine_peaks.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/cat.h"
#include "core/base/host_memory.h"
#include "core/ops/kit/isa.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

constexpr int kSums = 12, kRounds = 2'000'000, kTries = 5;

typedef float Floats4 __attribute__((vector_size(16)));   // NOLINT: aliases do not take the attribute
typedef float Floats8 __attribute__((vector_size(32)));   // NOLINT
typedef float Floats16 __attribute__((vector_size(64)));  // NOLINT

/// Products and sums that do not wait for each other. Each sum has a name: what is in an array would be read and
/// written in every round.
template <class Row>
EMPLACE_INLINE float multiply_add(int rounds) {
  Row s0 = {}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0, s10 = s0, s11 = s0;
  const Row factor = s0 + 0.999F;
  for (int i = 0; i < rounds; ++i) {
    s0 = s0 * factor + factor, s1 = s1 * factor + factor, s2 = s2 * factor + factor, s3 = s3 * factor + factor;
    s4 = s4 * factor + factor, s5 = s5 * factor + factor, s6 = s6 * factor + factor, s7 = s7 * factor + factor;
    s8 = s8 * factor + factor, s9 = s9 * factor + factor, s10 = s10 * factor + factor, s11 = s11 * factor + factor;
    asm volatile("" : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5));  // equal, but worked out each
    asm volatile("" : "+v"(s6), "+v"(s7), "+v"(s8), "+v"(s9), "+v"(s10), "+v"(s11));
  }
  s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
  return s0[0];
}
float multiply_add_base(int rounds) { return multiply_add<Floats4>(rounds); }
EMPLACE_TARGET_V3 float multiply_add_v3(int rounds) { return multiply_add<Floats8>(rounds); }
EMPLACE_TARGET_V4 float multiply_add_v4(int rounds) { return multiply_add<Floats16>(rounds); }

template <class F>
double in_parallel(int threads, const F& work) {
  const auto start = Clock::now();
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t);
  work(0);
  for (std::thread& other : others) other.join();
  return seconds_of(Clock::now() - start);
}

double peak_flops(int threads) {
  const auto function = for_isa(multiply_add_base, multiply_add_v3, multiply_add_v4);
  const int floats = for_isa(4, 8, 16), rounds = kRounds / floats;
  const double all = 2.0 * kSums * floats * rounds * threads;
  std::vector<float> results(static_cast<size_t>(threads));
  double best = 0;
  for (int i = 0; i < kTries; ++i) {  // a processor takes a while to run at its full speed
    const double s = in_parallel(threads, [&](int t) { results[static_cast<size_t>(t)] = function(rounds); });
    if (results[0] >= 0) best = std::max(best, all / s);
  }
  return best;
}

double copy_bandwidth(int threads) {
  constexpr int64_t kMost = int64_t{32} << 20;  // more than caches hold, where that may be taken
  const auto bytes = static_cast<size_t>(std::min(kMost, HostMemory::of_process().limit() / 8));
  const size_t share = bytes / static_cast<size_t>(threads);
  const auto from = std::make_unique<char[]>(bytes), to = std::make_unique<char[]>(bytes);
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const double s = in_parallel(threads, [&](int t) {
      const size_t at = share * static_cast<size_t>(t);
      std::memcpy(to.get() + at, from.get() + at, share);
    });
    best = std::max(best, 2.0 * static_cast<double>(share) * threads / s);
  }
  return best;
}

/// That all processors were at work since the machine started; of /proc/stat, whose lines count in hundredths.
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0;
  file >> name >> user >> nice >> system >> idle >> wait >> irq >> soft;
  return (user + nice + system + irq + soft) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double now_seconds() { return seconds_of(Clock::now().time_since_epoch()); }

}  // namespace

BusyMeter::BusyMeter() : start_s_(now_seconds()), busy_s_(busy_seconds()), own_s_(own_seconds()) {}

double BusyMeter::others() const {
  const double all = (now_seconds() - start_s_) * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  const double used = (busy_seconds() - busy_s_) - (own_seconds() - own_s_);
  return all > 0 ? std::clamp(used / all, 0.0, 1.0) : 0;
}

MachinePeaks measure_peaks(int threads) { return {peak_flops(threads), copy_bandwidth(threads)}; }

}  // namespace emplace
