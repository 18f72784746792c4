#include "core/cluster/remote_exchange.h"

#include <utility>

namespace emplace {

RemoteExchange::RemoteExchange(uint64_t session, const TaskMap& tasks, TaskId self, const Peers& peers, Inbox& inbox,
                               std::function<void()> taken)
    : names_(tasks.names), inbox_(inbox), taken_(std::move(taken)) {
  for (const std::string& name : tasks.names) {
    const auto found = peers.find(name);
    outboxes_.push_back(found == peers.end() ? nullptr : std::make_shared<Outbox>(session, self, found->second));
  }
}

void RemoteExchange::begin(uint64_t step) {
  step_ = step;
  sent_bytes_ = received_bytes_ = 0;
  for (const auto& outbox : outboxes_) {
    if (outbox) outbox->begin(step);
  }
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
  return outbox->put(transfer.copy, piece, stop);
}

Result<Piece> RemoteExchange::receive(const Transfer& transfer, uint64_t iteration, const StopSignal& stop) {
  flush();
  Result<Piece> piece = inbox_.take({step_, transfer.copy, iteration}, stop);
  taken_();
  if (piece.ok() && piece->value.valid()) received_bytes_ += static_cast<int64_t>(piece->value.size_bytes());
  return piece;
}

}  // namespace emplace
