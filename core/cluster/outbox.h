/// Outbox: what one task has for another in a step, on its way as few messages: small pieces share one, large ones are
/// cut into chunks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/cluster/peer.h"
#include "core/cluster/protocol.h"
#include "core/run/exchange.h"

namespace emplace {

/// Thread-safe. Requests under way keep it.
class Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  /// What is told of a message that was lost, on a thread of the transport. The receiver may wait for it when this task
  /// has done its part, and only this one knows.
  using Lost = std::function<void(uint64_t step, const Status& why)>;
  /// `from`: this task's number in the session.
  Outbox(uint64_t session, uint32_t from, std::shared_ptr<Peer> peer, Lost lost);

  /// What is put from now on belongs to this step; what is left of those before is dropped.
  void begin(uint64_t step);
  /// Copies the piece. One that finds nothing under way goes at once; others gather until an answer comes, they are
  /// enough for a message, or flush(). A task that runs ahead in a loop waits until the receiver has taken more: the
  /// stop signal's status, if that ends it.
  Status put(uint32_t copy, const Piece& piece, const StopSignal& stop);
  /// Nothing waits for company any longer: this task may be about to wait, or be done.
  void flush();
  /// Why something of the step could not be sent; OK: all was, or is under way.
  Status failure() const;

 private:
  Status put_small(uint32_t copy, const Piece& piece);
  void put_chunks(uint32_t copy, const Piece& piece);
  Status wait_for_room(size_t bytes, const StopSignal& stop);
  // With mutex_ held.
  void close_open();
  /// Sends what it may. Without the lock, since answers may come at once.
  void pump();
  void answered(uint64_t step, size_t bytes, const Answer& answer);

  const uint64_t session_;
  const uint32_t from_;
  const std::shared_ptr<Peer> peer_;
  const Lost lost_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  uint64_t step_ = 0;
  std::string open_;                    // a message of pieces that wait for company
  std::atomic<bool> has_open_ = false;  // read without the lock
  std::deque<std::string> ready_;
  size_t under_way_ = 0;          // messages
  size_t bytes_ = 0;              // not answered
  Status failure_ = ok_status();  // of step_
};

}  // namespace emplace
