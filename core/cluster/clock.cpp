#include "core/cluster/clock.h"

#include <optional>

namespace emplace {

// The peer looked at its clock some time between our two looks.
Result<ClockOffset> clock_of(Peer& peer) {
  constexpr int kTimes = 5;
  constexpr double kPatience = 2;
  std::optional<ClockOffset> best;
  for (int i = 0; i < kTimes; ++i) {
    const int64_t before = steady_now_ns();
    ASSIGN_OR_RETURN(const auto there,
                     peer.call<message::ClockReply>(message::method::kClock, message::Empty{}, nullptr, kPatience));
    const int64_t after = steady_now_ns(), half = (after - before) / 2;
    if (!best || half < best->error_ns) best = ClockOffset{there.now_ns - (before + half), half};
  }
  return *best;
}

}  // namespace emplace
