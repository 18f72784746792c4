#include "core/cluster/grpc/request_stream.h"

#include <utility>

#include "core/cluster/grpc/wire.h"

namespace emplace {

std::shared_ptr<RequestStream> RequestStream::open(grpc::GenericStub& stub, const std::string& token) {
  std::shared_ptr<RequestStream> made(new RequestStream);
  made->self_ = made;
  made->context_.AddMetadata(kTokenKey, token);
  stub.PrepareBidiStreamingCall(&made->context_, kStreamMethod, {}, made.get());
  made->StartRead(&made->read_);
  made->StartCall();
  return made;
}

// Writes are begun with the lock: gRPC calls back later, and not what reads have found to be at its end.
bool RequestStream::send(uint64_t number, grpc::ByteBuffer frame, std::shared_ptr<StreamedRequest> who) {
  std::lock_guard lock(mutex_);
  if (ended_) return false;
  open_.emplace(number, std::move(who));
  to_write_.push_back(std::move(frame));
  if (to_write_.size() == 1) StartWrite(&to_write_.front());
  return true;
}

void RequestStream::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  to_write_.pop_front();
  if (!ok) ended_ = true;
  if (!ended_ && !to_write_.empty()) StartWrite(&to_write_.front());
}

std::shared_ptr<StreamedRequest> RequestStream::take(uint64_t number) {
  std::lock_guard lock(mutex_);
  const auto found = open_.find(number);
  if (found == open_.end()) return nullptr;
  auto who = std::move(found->second);
  open_.erase(found);
  return who;
}

bool RequestStream::give_up(uint64_t number) { return take(number) != nullptr; }

// Asking for the next message sends one of its own, and its receiver wakes up for it: better once whoever waits for
// this answer goes on. Behind a large one, the next may be copied meanwhile, on another thread.
void RequestStream::OnReadDone(bool ok) {
  constexpr size_t kLarge = size_t{64} << 10;
  AnswerFrame frame;
  if (!ok || !read(read_, frame)) {
    std::lock_guard lock(mutex_);
    ended_ = true;
    return ok ? context_.TryCancel() : void();
  }
  read_.Clear();
  const bool is_large = frame.answer.body.size() > kLarge;
  if (is_large) StartRead(&read_);
  if (const auto who = take(frame.number)) who->answered(std::move(frame));
  if (!is_large) StartRead(&read_);
}

void RequestStream::OnDone(const grpc::Status& status) {
  const auto self = std::move(self_);
  std::map<uint64_t, std::shared_ptr<StreamedRequest>> left;
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    left.swap(open_);
  }
  // A peer that ends it in peace is about to close its port.
  const grpc::Status why = status.ok() ? grpc::Status(grpc::StatusCode::CANCELLED, "") : status;
  for (const auto& [number, who] : left) who->broken(why);
}

}  // namespace emplace
