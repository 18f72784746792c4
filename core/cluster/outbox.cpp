#include "core/cluster/outbox.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "core/base/cat.h"
#include "core/cluster/inbox.h"

namespace emplace {

using message::ChunkMessage;
using message::kChunkBytes;
using message::PieceMessage;
using message::PushMessage;

namespace {

constexpr size_t kEnough = size_t{64} << 10;  // for a message of its own
constexpr size_t kMostUnderWay = 4;           // messages: answers come while others are sent
constexpr size_t kMostInMessage = (size_t{1} << 30) - (size_t{1} << 20);
constexpr size_t kHead = 256;  // of a message, about

bool is_large(const Tensor& value) {
  return value.valid() && value.dtype() != DType::kString && value.size_bytes() > kChunkBytes;
}

}  // namespace

Outbox::Outbox(uint64_t session, uint32_t from, std::shared_ptr<Peer> peer, Lost lost)
    : session_(session), from_(from), peer_(std::move(peer)), lost_(std::move(lost)) {}

void Outbox::begin(uint64_t step) {
  std::lock_guard lock(mutex_);
  step_ = step;
  for (const std::string& message : ready_) bytes_ -= message.size();
  bytes_ -= open_.size();
  ready_.clear();
  open_.clear();
  has_open_ = false;
  failure_ = ok_status();
}

Status Outbox::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Status Outbox::put(uint32_t copy, const Piece& piece, const StopSignal& stop) {
  if (piece.iteration > 0) {
    const size_t bytes = piece.value.valid() ? piece.value.size_bytes() : 0;
    RETURN_IF_ERROR(wait_for_room(bytes, stop));
  }
  if (is_large(piece.value)) return put_chunks(copy, piece), ok_status();
  RETURN_IF_ERROR(put_small(copy, piece));
  pump();
  return ok_status();
}

// The receiver takes pieces in the order of all tasks, so the first of all that wait finds room.
Status Outbox::wait_for_room(size_t bytes, const StopSignal& stop) {
  constexpr auto kLook = std::chrono::milliseconds(10);
  constexpr auto kRoom = static_cast<size_t>(Inbox::kRoomBytes);
  std::unique_lock lock(mutex_);
  while (bytes_ > 0 && bytes_ + bytes > kRoom) {
    if (!failure_.ok()) return failure_;
    if (stop.asked()) return stop.status();
    if (!open_.empty()) close_open();
    lock.unlock();
    pump();
    lock.lock();
    if (bytes_ > 0 && bytes_ + bytes > kRoom) changed_.wait_for(lock, kLook);
  }
  return ok_status();
}

Status Outbox::put_small(uint32_t copy, const Piece& piece) {
  const PieceMessage made{copy, piece.dead, piece.value, piece.iteration};
  std::lock_guard lock(mutex_);
  const size_t before = open_.size();
  message::Writer writer(open_);
  if (open_.empty()) PushMessage{session_, step_, from_, {}, {}}.fields(writer);
  writer(PushMessage::kPieces, made);
  Status status = writer.status();
  if (status.ok() && open_.size() > kMostInMessage)
    status = resource_exhausted(cat("a tensor of ", open_.size() - before, " bytes is more than a message holds"));
  if (!status.ok()) return open_.resize(before), status;
  bytes_ += open_.size() - before;
  has_open_ = true;
  if (under_way_ == 0 || open_.size() >= kEnough) close_open();
  return ok_status();
}

void Outbox::put_chunks(uint32_t copy, const Piece& piece) {
  const Tensor& value = piece.value;
  const std::string_view all(static_cast<const char*>(value.raw()), value.size_bytes());
  const auto dims = value.shape().dims();
  PushMessage push{session_, 0, from_, {}, {{copy, piece.iteration, static_cast<int>(value.dtype()), {}, 0, {}}}};
  ChunkMessage& chunk = push.chunks.front();
  chunk.shape.assign(dims.begin(), dims.end());
  {
    std::lock_guard lock(mutex_);
    push.step = step_;
    if (!open_.empty()) close_open();
  }
  for (size_t at = 0; at < all.size(); at += kChunkBytes) {
    chunk.number = at / kChunkBytes, chunk.data = all.substr(at, kChunkBytes);
    std::string message;
    message.reserve(chunk.data.size() + kHead);
    message::Writer writer(message);
    push.fields(writer);
    {
      std::lock_guard lock(mutex_);
      bytes_ += message.size();
      ready_.push_back(std::move(message));
    }
    pump();
  }
}

void Outbox::flush() {
  if (!has_open_) return;
  {
    std::lock_guard lock(mutex_);
    if (open_.empty()) return;
    close_open();
  }
  pump();
}

void Outbox::close_open() {
  ready_.push_back(std::exchange(open_, {}));
  has_open_ = false;
}

void Outbox::pump() {
  for (;;) {
    std::string message;
    uint64_t step = 0;
    {
      std::lock_guard lock(mutex_);
      if (ready_.empty() || under_way_ >= kMostUnderWay) return;
      message = std::move(ready_.front());
      ready_.pop_front();
      ++under_way_;
      step = step_;
    }
    const size_t bytes = message.size();
    peer_->send(
        message::method::kPush, std::move(message),
        [self = shared_from_this(), step, bytes](const Answer& answer) { self->answered(step, bytes, answer); });
  }
}

void Outbox::answered(uint64_t step, size_t bytes, const Answer& answer) {
  Status failure;
  {
    std::lock_guard lock(mutex_);
    --under_way_;
    bytes_ -= bytes;
    if (answer.code != 0 && answer.code != static_cast<int>(Code::kCancelled) && step == step_ && failure_.ok()) {
      const bool knows_session = answer.code != static_cast<int>(Code::kNotFound);
      failure = failure_ = knows_session ? peer_->lost(answer) : peer_->restarted();
    }
    if (ready_.empty() && !open_.empty()) close_open();
    changed_.notify_all();
  }
  if (!failure.ok()) lost_(step, failure);
  pump();
}

}  // namespace emplace
