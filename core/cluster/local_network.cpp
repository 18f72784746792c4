#include "core/cluster/local_network.h"

#include <utility>

namespace emplace {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(3);  // before what was not acknowledged is sent again

}  // namespace

LocalNetwork::LocalNetwork(TaskId tasks, const NetworkFaults& faults)
    : faults_(faults), inboxes_(tasks), random_(faults.seed) {
  if (faults_.any()) postman_ = std::thread([this] { deliver(); });
}

LocalNetwork::~LocalNetwork() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (postman_.joinable()) postman_.join();
}

void LocalNetwork::send(TaskId from, TaskId to, uint64_t step, uint32_t copy, Piece piece) {
  if (!faults_.any()) {
    inboxes_[to].file(step, copy, std::move(piece), from);
    return;
  }
  std::lock_guard lock(mutex_);
  const uint64_t number = next_message_++;
  under_way_.emplace(number, Message{from, to, step, copy, std::move(piece)});
  ++counts_.sent;
  post(EventKind::kArrives, number);
  add_event(EventKind::kSentAgain, number, kPatience);
  changed_.notify_all();
}

LocalNetwork::Counts LocalNetwork::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void LocalNetwork::post(EventKind kind, uint64_t message) {
  const int times = happens(faults_.doubled) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    if (happens(faults_.lost)) {
      ++counts_.lost;
      continue;
    }
    std::uniform_int_distribution<int64_t> delay(0, faults_.delay_us);
    add_event(kind, message, std::chrono::microseconds(delay(random_)));
  }
}

void LocalNetwork::add_event(EventKind kind, uint64_t message, Clock::duration wait) {
  events_.push({Clock::now() + wait, next_event_++, kind, message});
}

void LocalNetwork::handle(const Event& event) {
  const auto found = under_way_.find(event.message);
  if (found == under_way_.end()) return;  // acknowledged by now
  const Message& m = found->second;
  switch (event.kind) {
    case EventKind::kArrives:
      if (!inboxes_[m.to].file(m.step, m.copy, m.piece, m.from)) ++counts_.repeated;
      post(EventKind::kAcknowledged, event.message);
      break;
    case EventKind::kAcknowledged:
      under_way_.erase(found);
      break;
    case EventKind::kSentAgain:
      post(EventKind::kArrives, event.message);
      add_event(EventKind::kSentAgain, event.message, kPatience);
      break;
  }
}

void LocalNetwork::deliver() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (events_.empty()) {
      changed_.wait(lock);
    } else if (const Event next = events_.top(); next.at > Clock::now()) {
      changed_.wait_until(lock, next.at);
    } else {
      events_.pop();
      handle(next);
    }
  }
}

}  // namespace emplace
