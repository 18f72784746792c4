/// SessionHolds: requests that keep sessions. Whoever sent one is there as long as it waits for the answer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/cluster/transport.h"

namespace emplace {

/// Thread-safe.
class SessionHolds {
 public:
  struct Held {
    uint64_t session;
    bool whole;  // by a client, of all tasks; else by the master, of this task's part
  };
  void add(IncomingRequest* request, Held held);
  /// None: it is not here, or no longer.
  std::optional<Held> remove(IncomingRequest* request);
  /// Somebody will come to keep it: to be called before it is told that there is such a session.
  void await(const Held& wanted);
  /// False: nobody has come within this time. True also after close(). REQUIRES: await().
  bool wait_for(const Held& wanted, std::chrono::milliseconds time);
  /// All that there are; they are to be answered.
  std::vector<IncomingRequest*> close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<IncomingRequest*, Held> held_;
  std::map<std::pair<uint64_t, bool>, bool> awaited_;  // by session and whole: did somebody come?
  bool closed_ = false;
};

}  // namespace emplace
