/// RemoteExchange: a task's end of the network between processes: pieces go to their task as requests.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/cluster/inbox.h"
#include "core/cluster/outbox.h"
#include "core/cluster/round_exchange.h"

namespace emplace {

/// All tasks of a session, by the name of each.
using Peers = std::map<std::string, std::shared_ptr<Peer>>;

class RemoteExchange final : public Exchange {
 public:
  /// `tasks`: as the session's device set has them, the master first. `taken`: called after a piece was taken from the
  /// inbox. `lost`: what was sent, and will not arrive; see Outbox.
  RemoteExchange(uint64_t session, const TaskMap& tasks, TaskId self, const Peers& peers, Inbox& inbox,
                 std::function<void()> taken, const Outbox::Lost& lost);

  /// Rounds go by collectives from now on, if the session's tasks are all ranks of the job. Before the first step.
  void use_collectives(MessagePassing& ranks, const TaskMap& tasks, TaskId self, const Peers& peers);

  /// The step that send() and receive() belong to from now on.
  void begin(uint64_t step);
  /// The task's part of the step has ended.
  void flush();
  /// It has done all: waits for collectives that others may still need, unless it is stopped.
  void finish(const std::atomic<bool>& stop);
  /// Why a piece could not be sent; OK: all were, or are under way.
  Status failure() const;
  /// The hashes of the programs that were cut since the last call.
  std::vector<std::string> take_programs();
  /// Of tensors, since begin().
  int64_t sent_bytes() const { return sent_bytes_; }
  int64_t received_bytes() const { return received_bytes_; }
  /// Since begin().
  int64_t time_ns() const;
  /// For pieces that had not come, since begin(): of all threads together.
  int64_t wait_ns() const { return wait_ns_; }
  /// Begun so far.
  int64_t collectives() const { return rounds_ ? rounds_->begun() : 0; }

  bool takes_rounds() const override { return rounds_ != nullptr; }
  void begin_rounds(const std::shared_ptr<const Rounds>& rounds) override { rounds_->begin(rounds); }
  Status agree(const std::string& program_hash) override;
  const std::string& task_name(TaskId task) const override { return names_[task]; }
  Status send(const Transfer& transfer, const Piece& piece, const StopSignal& stop) override;
  Result<Piece> receive(const Transfer& transfer, uint64_t iteration, const StopSignal& stop) override;

 private:
  Result<Piece> receive_in_round(const Transfer& transfer, const StopSignal& stop);

  const std::vector<std::string> names_;           // by task
  std::vector<std::shared_ptr<Outbox>> outboxes_;  // likewise; null: this one
  std::unique_ptr<RoundExchange> rounds_;          // null: there are no collectives
  Inbox& inbox_;
  const std::function<void()> taken_;
  std::atomic<uint64_t> step_ = 0;
  std::atomic<int64_t> begun_ns_ = 0;
  std::atomic<int64_t> sent_bytes_ = 0, received_bytes_ = 0, wait_ns_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> programs_;  // guarded by mutex_
};

}  // namespace emplace
