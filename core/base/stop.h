/// The request to stop, one for the process: set when a signal arrives or the time is up. Work that may take longer
/// than a tenth of a second checks it every few thousand rows or few million bytes.
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
