#include "core/cluster/remote_exchange.h"

#include <algorithm>
#include <utility>

#include "core/cluster/clock.h"
#include "core/cluster/mpi_transport.h"

namespace emplace {

RemoteExchange::RemoteExchange(uint64_t session, const TaskMap& tasks, TaskId self, const Peers& peers, Inbox& inbox,
                               std::function<void()> taken, const Outbox::Lost& lost)
    : names_(tasks.names), inbox_(inbox), taken_(std::move(taken)) {
  for (TaskId task = 0; task < tasks.size(); ++task) {
    const auto found = peers.find(tasks.names[task]);
    const bool is_peer = found != peers.end() && task != self;
    outboxes_.push_back(is_peer ? std::make_shared<Outbox>(session, self, found->second, lost) : nullptr);
  }
}

void RemoteExchange::begin(uint64_t step) {
  step_ = step;
  begun_ns_ = steady_now_ns();
  sent_bytes_ = received_bytes_ = wait_ns_ = 0;
  if (rounds_) rounds_->end();
  for (const auto& outbox : outboxes_) {
    if (outbox) outbox->begin(step);
  }
}

int64_t RemoteExchange::time_ns() const { return steady_now_ns() - begun_ns_; }

void RemoteExchange::use_collectives(MessagePassing& ranks, const TaskMap& tasks, TaskId self, const Peers& peers) {
  std::vector<int> rank_of;
  for (TaskId task = 0; task < tasks.size(); ++task) {
    const auto peer = peers.find(tasks.names[task]);
    rank_of.push_back(task == self          ? ranks.rank()
                      : peer == peers.end() ? -1
                                            : MpiTransport::rank_of(peer->second->address()));
  }
  std::vector<int> sorted = rank_of;
  std::sort(sorted.begin(), sorted.end());
  bool is_whole = static_cast<int>(sorted.size()) == ranks.size();
  for (size_t i = 0; i < sorted.size(); ++i) is_whole = is_whole && sorted[i] == static_cast<int>(i);
  if (is_whole) rounds_ = std::make_unique<RoundExchange>(ranks, std::move(rank_of), self);
}

void RemoteExchange::finish(const std::atomic<bool>& stop) {
  if (rounds_) rounds_->finish([&] { return stop ? Status(Code::kCancelled, "stopped") : ok_status(); });
}

void RemoteExchange::flush() {
  for (const auto& outbox : outboxes_) {
    if (outbox) outbox->flush();
  }
}

std::vector<std::string> RemoteExchange::take_programs() {
  std::lock_guard lock(mutex_);
  return std::exchange(programs_, {});
}

Status RemoteExchange::failure() const {
  for (const auto& outbox : outboxes_) {
    if (outbox) RETURN_IF_ERROR(outbox->failure());
  }
  return ok_status();
}

Status RemoteExchange::agree(const std::string& program_hash) {
  std::lock_guard lock(mutex_);
  programs_.push_back(program_hash);
  return ok_status();
}

Status RemoteExchange::send(const Transfer& transfer, const Piece& piece, const StopSignal& stop) {
  const std::shared_ptr<Outbox>& outbox = outboxes_[transfer.peer];
  if (!outbox) return internal_error("a piece for a task without an address");
  if (piece.value.valid()) sent_bytes_ += static_cast<int64_t>(piece.value.size_bytes());
  if (rounds_ && rounds_->carries(transfer.copy)) return rounds_->put(transfer.copy, piece.value);
  return outbox->put(transfer.copy, piece, stop);
}

Result<Piece> RemoteExchange::receive(const Transfer& transfer, uint64_t iteration, const StopSignal& stop) {
  flush();
  const int64_t asked = steady_now_ns();
  Result<Piece> piece = rounds_ && rounds_->carries(transfer.copy)
                            ? receive_in_round(transfer, stop)
                            : inbox_.take({step_, transfer.copy, iteration}, stop);
  wait_ns_ += steady_now_ns() - asked;
  taken_();
  if (piece.ok() && piece->value.valid()) received_bytes_ += static_cast<int64_t>(piece->value.size_bytes());
  return piece;
}

Result<Piece> RemoteExchange::receive_in_round(const Transfer& transfer, const StopSignal& stop) {
  ASSIGN_OR_RETURN(Tensor value, rounds_->take(transfer.copy, [&] {
    if (inbox_.aborted(step_)) return Status(Code::kCancelled, "the step failed on another task");
    return stop.asked() ? stop.status() : ok_status();
  }));
  return Piece{std::move(value), false, 0};
}

}  // namespace emplace
