#include "core/base/exit_code.h"

#include "core/base/cat.h"

namespace emplace {

Status lost_at_step(const Status& status, int64_t step) {
  const std::string node = status.node().empty() ? "" : cat(", node ", status.node());
  return Status(status.code(), cat(status.message(), " at step ", step, node)).blamed(status.blame());
}

int exit_code(const Status& status) {
  if (status.ok()) return 0;
  // Whoever meant to do something, memory and time end it.
  if (status.code() == Code::kResourceExhausted) return 6;
  if (status.code() == Code::kDeadlineExceeded) return 8;
  if (status.blame() == kBlamePeer) return 8;
  switch (status.blame()) {
    case Blame::kUsage:
      return 2;
    case Blame::kFile:
    case Blame::kData:
      return 3;
    case Blame::kPlacement:
      return 4;
    case Blame::kDevice:
      return 5;
    case Blame::kMismatch:
      return 7;
    case Blame::kWrite:
      return 1;
    case Blame::kNone:
      break;
  }
  if (status.code() == Code::kUnavailable) return 5;
  return status.code() == Code::kUnimplemented ? 3 : 1;  // an op that emplace cannot run
}

}  // namespace emplace
