#include "core/cluster/grpc/request_stream.h"

#include <utility>

#include "core/cluster/grpc/wire.h"

namespace emplace {
namespace {

constexpr size_t kMostIdle = 16;  // more stay from a crowd only

}  // namespace

std::shared_ptr<RequestStream> RequestStream::open(grpc::GenericStub& stub, const std::string& token,
                                                   std::weak_ptr<RequestStreams> idle) {
  std::shared_ptr<RequestStream> made(new RequestStream);
  {
    std::lock_guard lock(made->mutex_);  // for the thread that hears of its end first
    made->self_ = made;
  }
  made->idle_ = std::move(idle);
  made->context_.AddMetadata(kTokenKey, token);
  stub.PrepareBidiStreamingCall(&made->context_, kStreamMethod, {}, made.get());
  made->StartCall();
  return made;
}

bool RequestStream::send(uint64_t number, Frame frame, std::shared_ptr<StreamedRequest> who) {
  {
    std::lock_guard lock(mutex_);
    if (ended_) return false;
    number_ = number, who_ = std::move(who), under_way_ = true;
  }
  start_turn(context_.c_call(), std::move(frame));
  return true;
}

bool RequestStream::give_up(uint64_t number) {
  std::shared_ptr<StreamedRequest> who;
  std::lock_guard lock(mutex_);
  if (number == number_) who.swap(who_);
  return who != nullptr;
}

// It is free for the next request before whoever waits for this answer goes on.
void RequestStream::turned(Frame in) {
  AnswerFrame frame;
  bool is_answer = in && read(*in, frame), is_over = false;
  in.reset();
  std::shared_ptr<StreamedRequest> who;
  std::shared_ptr<RequestStream> self;
  {
    std::lock_guard lock(mutex_);
    self = self_;
    under_way_ = false;
    is_over = ended_.has_value();
    is_answer = is_answer && frame.number == number_;
    if (is_answer) who.swap(who_);
  }
  const auto idle = idle_.lock();
  if (is_over)
    end();
  else if (is_answer && idle)
    idle->give_back(self);
  else
    context_.TryCancel();
  if (who) who->answered(std::move(frame));
}

void RequestStream::OnDone(const grpc::Status& status) {
  {
    std::lock_guard lock(mutex_);
    ended_ = status;
    if (under_way_) return;
  }
  end();
}

// A peer that ends a stream in peace is about to close its port.
void RequestStream::end() {
  std::shared_ptr<RequestStream> self;
  std::shared_ptr<StreamedRequest> who;
  grpc::Status why;
  {
    std::lock_guard lock(mutex_);
    self.swap(self_);
    who.swap(who_);
    why = ended_->ok() ? grpc::Status(grpc::StatusCode::CANCELLED, "") : *ended_;
  }
  if (who) who->broken(why);
}

RequestStreams::~RequestStreams() {
  for (const auto& stream : idle_) stream->close();
}

std::shared_ptr<RequestStream> RequestStreams::take() {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto last = std::move(idle_.back());
      idle_.pop_back();
      return last;
    }
  }
  return RequestStream::open(stub_, token_, weak_from_this());
}

void RequestStreams::give_back(std::shared_ptr<RequestStream> stream) {
  {
    std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) return idle_.push_back(std::move(stream));
  }
  stream->close();
}

}  // namespace emplace
