/// LocalNetwork: carries pieces between tasks of one process. With faults it is a bad network: messages are late, lost,
/// doubled and overtake each other, and what is lost is sent again until it was acknowledged.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <queue>
#include <random>
#include <thread>
#include <vector>

#include "core/cluster/inbox.h"

namespace emplace {

struct NetworkFaults {
  uint64_t seed = 0;
  double lost = 0, doubled = 0;  // shares of messages, from 0 to 1
  int64_t delay_us = 0;          // of a message, at most; 0: with no loss and no double either, none at all
  bool any() const { return lost > 0 || doubled > 0 || delay_us > 0; }
};

class LocalNetwork {
 public:
  LocalNetwork(TaskId tasks, const NetworkFaults& faults);
  ~LocalNetwork();

  Inbox& inbox(TaskId task) { return inboxes_[task]; }
  /// Returns at once.
  void send(TaskId from, TaskId to, uint64_t step, uint32_t copy, Piece piece);

  /// What the faults did so far: messages that were lost, and those that arrived twice.
  struct Counts {
    int64_t sent = 0, lost = 0, repeated = 0;
  };
  Counts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Message {
    TaskId from, to;
    uint64_t step;
    uint32_t copy;
    Piece piece;
  };
  enum class EventKind : uint8_t { kArrives, kAcknowledged, kSentAgain };
  struct Event {
    Clock::time_point at;
    uint64_t order;  // of equal times
    EventKind kind;
    uint64_t message;
    bool operator<(const Event& other) const {  // the earliest is the top of a std::priority_queue
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  // With mutex_ held.
  void post(EventKind kind, uint64_t message);
  void add_event(EventKind kind, uint64_t message, Clock::duration wait);
  void handle(const Event& event);
  bool happens(double share) { return share > 0 && std::uniform_real_distribution<>()(random_) < share; }
  void deliver();

  // Constant after construction.
  const NetworkFaults faults_;
  std::deque<Inbox> inboxes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::mt19937_64 random_;
  std::map<uint64_t, Message> under_way_;  // not acknowledged, by number
  std::priority_queue<Event> events_;
  uint64_t next_message_ = 0, next_event_ = 0;
  Counts counts_;
  bool closing_ = false;

  std::thread postman_;  // of a bad network
};

}  // namespace emplace
