/// MpiLink: what ranks tell each other in a session: pieces of steps, which step failed, how it ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/cluster/inbox.h"
#include "core/cluster/message.h"
#include "core/cluster/message_passing.h"
#include "core/cluster/protocol.h"
#include "core/cluster/step_outcome.h"

namespace emplace {

class MpiLink {
 public:
  /// `tasks`: by rank. `stop`: set by a signal, may be null. All must outlive it.
  MpiLink(MessagePassing& ranks, std::vector<std::string> tasks, const std::atomic<bool>* stop);
  ~MpiLink();

  int rank() const { return ranks_.rank(); }
  size_t size() const { return tasks_.size(); }
  const std::vector<std::string>& tasks() const { return tasks_; }
  /// What every rank has brought, by rank: messages. All ranks call it.
  template <class T>
  Result<std::vector<T>> all_gather(const T& own) {
    ASSIGN_OR_RETURN(const std::string bytes, message::write(own));
    std::vector<T> all;
    for (const std::string& one : ranks_.all_gather(bytes)) {
      ASSIGN_OR_RETURN(all.emplace_back(), message::read<T>(one));
    }
    return all;
  }

  /// The next step, under a number that all ranks count alike.
  uint64_t begin_step();
  /// Set while the running step is to end: it failed elsewhere, or a signal came.
  const std::atomic<bool>& stop() const { return stop_; }
  Inbox& inbox() { return inbox_; }
  Status send_piece(int to, const message::PieceMessage& piece);
  /// This rank's part has ended so. Waits for all others: the step's outcome, the same on all ranks.
  Status end_step(const Status& own);

 private:
  /// A message: its kind, and what it says.
  enum class Kind : uint8_t { kPiece = 'P', kEnded = 'E', kAbort = 'A', kOutcome = 'O' };
  void send(int to, Kind kind, std::string body);
  void receive();
  void handle(int from, std::string_view bytes);
  /// Of the first rank: a part of a step has ended.
  void part_ended(int rank, uint64_t step, const Status& status);
  void abort(uint64_t step);

  MessagePassing& ranks_;
  const std::vector<std::string> tasks_;
  const std::atomic<bool>* const signal_;
  Inbox inbox_;
  std::atomic<bool> stop_ = false, closing_ = false;
  std::atomic<uint64_t> step_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<uint64_t, std::shared_ptr<StepOutcome>> outcomes_;  // of the first rank
  std::map<uint64_t, Status> told_;                            // of the others

  std::thread receiver_;
};

}  // namespace emplace
