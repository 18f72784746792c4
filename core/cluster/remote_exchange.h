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

namespace emplace {

/// All tasks of a session, by the name of each.
using Peers = std::map<std::string, std::shared_ptr<Peer>>;

class RemoteExchange final : public Exchange {
 public:
  /// `tasks`: as the session's device set has them, the master first. `taken`: called after a piece was taken from the
  /// inbox.
  RemoteExchange(uint64_t session, const TaskMap& tasks, TaskId self, const Peers& peers, Inbox& inbox,
                 std::function<void()> taken);

  /// The step that send() and receive() belong to from now on.
  void begin(uint64_t step);
  /// The task's part of the step has ended.
  void flush();
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

  Status agree(const std::string& program_hash) override;
  const std::string& task_name(TaskId task) const override { return names_[task]; }
  Status send(const Transfer& transfer, const Piece& piece, const StopSignal& stop) override;
  Result<Piece> receive(const Transfer& transfer, uint64_t iteration, const StopSignal& stop) override;

 private:
  const std::vector<std::string> names_;           // by task
  std::vector<std::shared_ptr<Outbox>> outboxes_;  // likewise; null: this one
  Inbox& inbox_;
  const std::function<void()> taken_;
  std::atomic<uint64_t> step_ = 0;
  std::atomic<int64_t> begun_ns_ = 0;
  std::atomic<int64_t> sent_bytes_ = 0, received_bytes_ = 0, wait_ns_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> programs_;  // guarded by mutex_
};

}  // namespace emplace
