#include "core/cluster/grpc/answer_stream.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace emplace {
namespace {

/// gRPC calls back on half as many threads as there are processors, of which it counts those that are offline, too, but
/// on two at least. All but one may be kept by handlers.
std::atomic<int>& threads_to_spare() {
  static std::atomic<int> spare = std::clamp(static_cast<int>(std::thread::hardware_concurrency() / 2), 2, 16) - 1;
  return spare;
}

}  // namespace

/// One request, from its message to its answer.
class AnswerStream::Request final : public IncomingRequest {
 public:
  Request(AnswerStream& stream, RequestFrame frame) : stream_(stream), frame_(std::move(frame)) {}

  uint64_t number() const { return frame_.id.number; }
  /// Has it handled.
  void serve() {
    stream_.handler_->handle(this);
    if (stays_) {
      ++threads_to_spare();
      return;
    }
    {
      std::lock_guard lock(mutex_);
      handled_ = true;
      if (!answered_ && lost_) call_off();
      if (!answered_) return;
    }
    stream_.answered(std::move(answer_));
  }
  /// Nobody waits for its answer.
  void lost() {
    std::lock_guard lock(mutex_);
    lost_ = true;
    if (!answered_ && handled_) call_off();
  }

  std::string_view method() const override { return frame_.method; }
  std::string& body() override { return frame_.body; }
  RequestId id() const override { return frame_.id; }
  bool stay() override {
    if (--threads_to_spare() < 0) {
      ++threads_to_spare();
      return false;
    }
    stays_ = true;
    std::lock_guard lock(mutex_);
    handled_ = true;
    if (lost_) call_off();
    return true;
  }
  void answer(Answer answer) override {
    {
      std::lock_guard lock(mutex_);
      answered_ = true;
      answer_ = std::move(answer);
      if (!handled_) return;
    }
    stream_.answered(std::move(answer_));
  }

 private:
  // With mutex_ held, so that answer() waits for its end.
  void call_off() {
    if (!called_off_) stream_.handler_->called_off(this);
    called_off_ = true;
  }

  AnswerStream& stream_;
  RequestFrame frame_;
  bool stays_ = false;  // of the thread that calls handle()
  std::mutex mutex_;
  // Guarded by mutex_.
  Answer answer_;
  bool handled_ = false, answered_ = false;  // handled_: handle() has returned, or stays
  bool lost_ = false, called_off_ = false;
};

AnswerStream::AnswerStream(grpc::GenericCallbackServerContext* context, RequestHandler* handler, uint64_t run,
                           std::function<void(AnswerStream*)> done)
    : context_(context), handler_(handler), run_(run), done_(std::move(done)) {
  StartSendInitialMetadata();
}

void AnswerStream::OnSendInitialMetadataDone(bool ok) {
  if (!ok) return lost();
  std::lock_guard lock(mutex_);
  if (!finished_) take_turn(nullptr, true);
}

// With the lock: what is finished may be gone.
void AnswerStream::take_turn(Frame out, bool receives) {
  under_way_ = true;
  start_turn(context_->c_call(), std::move(out), receives);
}

// Once the lock is let go without a request, or an end to tell of, the stream may be gone: gRPC hears of its end on
// another thread.
void AnswerStream::turned(Frame in) {
  RequestFrame frame;
  std::shared_ptr<Request> request;
  if (in && read(*in, frame)) request = std::make_shared<Request>(*this, std::move(frame));
  in.reset();
  bool is_last_use = false, finishes = false;
  {
    std::lock_guard lock(mutex_);
    under_way_ = false;
    is_last_use = done_with_;
    if (finished_) request = nullptr;
    request_ = request;
    if (!request) {
      lost_ = true;
      finishes = ends();
    }
  }
  if (is_last_use)
    delete this;
  else if (request)
    request->serve();
  else if (finishes)
    Finish(grpc::Status::OK);
}

// The next request is asked for along with the answer, or not at all.
void AnswerStream::answered(Answer answer) {
  Frame frame = answer_frame(request_->number(), run_, std::move(answer));
  std::shared_ptr<Request> last;  // may be the last to know of it
  bool finishes = false;
  {
    std::lock_guard lock(mutex_);
    last.swap(request_);
    answers_last_ = closing_ && !lost_;
    finishes = ends();
    if (!finishes) take_turn(std::move(frame), !answers_last_);
  }
  if (finishes) Finish(grpc::Status::OK);
}

bool AnswerStream::ends() {
  if (finished_ || request_ || !(lost_ || (closing_ && !answers_last_))) return false;
  return finished_ = true;
}

void AnswerStream::lost() {
  std::shared_ptr<Request> left;
  bool finishes = false;
  {
    std::lock_guard lock(mutex_);
    lost_ = true;
    left = request_;
    finishes = ends();
  }
  if (finishes) return Finish(grpc::Status::OK);
  if (left) left->lost();
}

void AnswerStream::close() {
  bool finishes = false;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    finishes = ends();
  }
  if (finishes) Finish(grpc::Status::OK);
}

// What is under way fails now, if it has not ended yet, and is heard of later.
void AnswerStream::OnDone() {
  done_(this);
  {
    std::lock_guard lock(mutex_);
    done_with_ = true;
    if (under_way_) return;
  }
  delete this;
}

}  // namespace emplace
