/// The clocks of tasks: how far one is before another, by round trips.
#pragma once

#include <chrono>

#include "core/cluster/peer.h"
#include "core/cluster/protocol.h"

namespace emplace {

inline int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct ClockOffset {
  int64_t ahead_ns = 0, error_ns = 0;  // the peer's clock shows so much more; at most so wrong
};
/// The best of a few round trips.
Result<ClockOffset> clock_of(Peer& peer);

}  // namespace emplace
