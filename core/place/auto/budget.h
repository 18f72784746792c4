/// How long a search may go on: so many evaluations, and not past a deadline.
#pragma once

#include <chrono>
#include <cstdint>

namespace emplace::autoplace {

class Budget {
 public:
  using StopLook = bool (*)();  // asked now and then: must everything end?

  /// `time_limit_s` 0: no deadline. `are_long`: an evaluation takes far longer than a look at the clock.
  Budget(int64_t evaluations, double time_limit_s, StopLook stop, bool are_long = false)
      : most_(evaluations),
        between_looks_(are_long ? 0 : 15),
        stop_(stop),
        limited_(time_limit_s > 0),
        start_(Clock::now()) {
    if (limited_)
      end_ = start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time_limit_s));
  }

  /// Counts one evaluation. False: there is none left.
  bool take() {
    if (done_ >= most_) return false;
    ++done_;
    return (done_ & between_looks_) != 0 || !look();
  }
  /// Is the time up? Looks at the clock.
  bool look() {
    if (!cut_) cut_ = (limited_ && Clock::now() >= end_) || stopped();
    if (cut_) most_ = done_;
    return cut_;
  }

  /// Must everything end, whatever time is left?
  bool stopped() const { return stop_ && stop_(); }

  int64_t done() const { return done_; }
  int64_t left() const { return most_ - done_; }
  /// The time ended it.
  bool cut() const { return cut_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t most_, between_looks_, done_ = 0;
  StopLook stop_;
  bool limited_, cut_ = false;
  Clock::time_point start_, end_;
};

}  // namespace emplace::autoplace
