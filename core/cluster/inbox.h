/// Inbox: what has arrived for one task's part of a step, whoever brought it and however often.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/run/exchange.h"

namespace emplace {

/// Thread-safe. Steps come one after the other, by numbers that grow.
class Inbox {
 public:
  /// False: it was here before, or its step is over, or far from now. Pieces of the next step wait for it. `from`: the
  /// task that sent it.
  bool file(uint64_t step, uint32_t copy, Piece piece, TaskId from = 0);
  struct Arrived {
    uint32_t copy;
    Piece piece;
  };
  /// The same of several of one step.
  void file_all(uint64_t step, std::vector<Arrived> pieces, TaskId from);
  /// Could a piece of this step be filed?
  bool awaits(uint64_t step) const;
  /// Which piece: a copy of the whole program, in a step, in an iteration of its loops.
  struct Key {
    uint64_t step;
    uint32_t copy;
    uint64_t iteration = 0;
    bool operator==(const Key&) const = default;
  };
  /// Waits for a piece of the running step; those of one copy are taken in the order of its iterations. CANCELLED once
  /// abort() was called for it; stop's own status.
  Result<Piece> take(const Key& key, const StopSignal& stop);
  /// Whoever waits for a piece of this step, or will, is told that it failed elsewhere.
  void abort(uint64_t step);
  /// Was abort() called for it?
  bool aborted(uint64_t step) const;
  /// Forgets all of this step and of those before it.
  void end(uint64_t step);

  /// Pieces that nobody has taken.
  size_t size() const;
  /// Who runs ahead in a loop waits while so much of what it sent has not been taken: see has_room().
  static constexpr int64_t kRoomBytes = int64_t{16} << 20;
  /// Of this sender, less than kRoomBytes are here.
  bool has_room(TaskId from) const;
  /// Waits for that, in a process that shares memory with the sender. CANCELLED as take().
  Status wait_for_room(TaskId from, uint64_t step, const StopSignal& stop);

 private:
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return ((k.step * 0x9e3779b97f4a7c15 ^ k.copy) * 0xff51afd7ed558ccd >> 16) + k.iteration;
    }
  };

  struct Filed {
    Piece piece;
    TaskId from;
    int64_t bytes() const;
  };
  // With mutex_ held.
  bool file_one(uint64_t step, uint32_t copy, Piece piece, TaskId from);
  bool is_awaited(uint64_t step) const { return step > ended_ && step <= ended_ + kStepsAhead; }
  void count(const Filed& filed, int sign);
  bool is_roomy(TaskId from) const { return from >= waiting_bytes_.size() || waiting_bytes_[from] < kRoomBytes; }

  static constexpr uint64_t kStepsAhead = 1000;  // nobody is further: a step begins when all have ended the one before

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::unordered_map<Key, Filed, KeyHash> pieces_;
  std::vector<int64_t> waiting_bytes_;  // of pieces_, by sender
  /// By copy (a key of iteration 0): how many were taken, so that another one of them is known as such.
  std::unordered_map<Key, uint64_t, KeyHash> taken_;
  uint64_t ended_ = 0, aborted_ = 0;  // steps up to here
};

}  // namespace emplace
