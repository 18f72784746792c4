#include "core/cluster/mpi_link.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace emplace {
namespace {

/// Of a step: how a part of it, or all of it, has ended.
struct StepEnd {
  uint64_t step = 0;
  message::StatusMessage status;

  template <class F>
  void fields(F& field) {
    field(1, step), field(2, status);
  }
};

}  // namespace

MpiLink::MpiLink(MessagePassing& ranks, std::vector<std::string> tasks, const std::atomic<bool>* stop)
    : ranks_(ranks), tasks_(std::move(tasks)), signal_(stop), receiver_([this] { receive(); }) {}

MpiLink::~MpiLink() {
  ranks_.all_gather({});  // nobody needs an answer any longer
  closing_ = true;
  receiver_.join();
}

uint64_t MpiLink::begin_step() {
  stop_ = false;
  const uint64_t step = ++step_;
  if (inbox_.aborted(step)) stop_ = true;
  return step;
}

Status MpiLink::send_piece(int to, const message::PieceMessage& piece) {
  ASSIGN_OR_RETURN(std::string body, message::write(piece));
  if (body.size() + 1 > kMostBytes)
    return resource_exhausted(cat("a tensor of ", body.size(), " bytes is more than one MPI message holds"));
  send(to, Kind::kPiece, std::move(body));
  return ok_status();
}

void MpiLink::send(int to, Kind kind, std::string body) {
  body += static_cast<char>(kind);
  ranks_.send(to, std::move(body));
}

Status MpiLink::end_step(const Status& own) {
  const uint64_t step = step_;
  Status status;
  if (rank() == 0) {
    part_ended(0, step, own);
    std::shared_ptr<StepOutcome> outcome;
    {
      std::lock_guard lock(mutex_);
      outcome = outcomes_[step];
    }
    while (!outcome->wait_for(std::chrono::seconds(1))) {
    }
    status = outcome->status();
    const Result<std::string> body = message::write(StepEnd{step, message::StatusMessage::of(status)});
    for (size_t to = 1; to < size(); ++to) send(static_cast<int>(to), Kind::kOutcome, *body);
    std::lock_guard lock(mutex_);
    outcomes_.erase(step);
  } else {
    Result<std::string> body = message::write(StepEnd{step, message::StatusMessage::of(own)});
    send(0, Kind::kEnded, body.take());
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_.contains(step); });
    status = std::move(told_[step]);
    told_.erase(step);
  }
  inbox_.end(step);
  return status;
}

// A blocking receive would keep a processor busy. Looks often while something happens, else ever less so.
void MpiLink::receive() {
  using std::chrono::microseconds;
  constexpr microseconds kShortest{50}, kLongest{1000};
  microseconds pause = kShortest;
  int from = 0;
  std::string bytes;
  while (!closing_) {
    if (signal_ && signal_->load(std::memory_order_relaxed)) stop_ = true;
    if (ranks_.poll(from, bytes)) {
      handle(from, bytes);
      pause = kShortest;
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause + pause / 32 + microseconds(1), kLongest);
    }
  }
}

void MpiLink::handle(int from, std::string_view bytes) {
  if (bytes.empty()) return;
  const auto kind = static_cast<Kind>(bytes.back());
  bytes.remove_suffix(1);
  if (kind == Kind::kPiece) {
    Result<message::PieceMessage> piece = message::read<message::PieceMessage>(bytes);
    if (piece.ok()) inbox_.file(piece->step, piece->copy, {std::move(piece->value), piece->dead, piece->iteration});
    return;
  }
  const Result<StepEnd> end = message::read<StepEnd>(bytes);
  if (!end.ok()) return;
  switch (kind) {
    case Kind::kEnded:
      return part_ended(from, end->step, end->status.status());
    case Kind::kAbort:
      return abort(end->step);
    case Kind::kOutcome: {
      std::lock_guard lock(mutex_);
      told_[end->step] = end->status.status();
      changed_.notify_all();
      return;
    }
    case Kind::kPiece:
      return;
  }
}

void MpiLink::part_ended(int rank, uint64_t step, const Status& status) {
  std::shared_ptr<StepOutcome> outcome;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<StepOutcome>& known = outcomes_[step];
    if (!known) known = std::make_shared<StepOutcome>(size());
    outcome = known;
  }
  if (!status.ok()) {
    outcome->failed(tasks_[static_cast<size_t>(rank)], status);
    abort(step);
    const Result<std::string> body = message::write(StepEnd{step, {}});
    for (size_t to = 1; to < size(); ++to) send(static_cast<int>(to), Kind::kAbort, *body);
  }
  outcome->ended();
}

void MpiLink::abort(uint64_t step) {
  inbox_.abort(step);
  if (step_ == step) stop_ = true;
}

}  // namespace emplace
