/// Asking what is under way to end: a signal has come, or the time is up. One for the process, as signals are. Work
/// that may take longer than a tenth of a second looks here every few thousand rows or few million bytes.
#pragma once

#include "core/base/status.h"

namespace emplace {

/// May be called by a signal handler.
void request_stop() noexcept;

/// From now on. 0: no deadline.
void set_deadline(double seconds);

/// Any thread, at any rate: a few nanoseconds, with a deadline some twenty more.
bool stop_requested() noexcept;

/// For loops over nodes, rows and the like: looks every thousandth time or so.
class OccasionalLook {
 public:
  bool stop_requested() noexcept { return (++turns_ & 1023U) == 0 && emplace::stop_requested(); }

 private:
  unsigned turns_ = 0;
};

/// Cancelled after request_stop(), DeadlineExceeded when the time is up, else OK.
Status stop_status();

}  // namespace emplace
