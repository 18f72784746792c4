/// Inbox: what has arrived for one task's part of a step, whoever brought it and however often.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <unordered_map>

#include "core/run/exchange.h"

namespace emplace {

/// Thread-safe. Steps come one after the other, by numbers that grow.
class Inbox {
 public:
  /// False: it was here before, or its step is over. Pieces of a step that has not begun here wait for it.
  bool file(uint64_t step, uint32_t copy, Piece piece);
  /// Waits for a piece of the running step. CANCELLED once abort() was called for it; stop's own status.
  Result<Piece> take(uint64_t step, uint32_t copy, const StopSignal& stop);
  /// Whoever waits for a piece of this step, or will, is told that it failed elsewhere.
  void abort(uint64_t step);
  /// Was abort() called for it?
  bool aborted(uint64_t step) const;
  /// Forgets all of this step and of those before it.
  void end(uint64_t step);

  /// Pieces that nobody has taken.
  size_t size() const;

 private:
  struct Key {
    uint64_t step;
    uint32_t copy;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const { return (k.step * 0x9e3779b97f4a7c15 ^ k.copy) * 0xff51afd7ed558ccd >> 16; }
  };
  struct Entry {
    Piece piece;
    bool taken = false;  // kept until the step ends, so that another copy of it is known as such
  };

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  // Guarded by mutex_.
  std::unordered_map<Key, Entry, KeyHash> entries_;
  uint64_t ended_ = 0, aborted_ = 0;  // steps up to here
};

}  // namespace emplace
