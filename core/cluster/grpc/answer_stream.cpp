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
    stream_.answered(*this, std::move(answer_));
  }
  /// Has the stream's next message read, once. After handle() or within it, by the thread that calls that.
  void read_on() {
    if (!std::exchange(reads_on_, true)) stream_.read_next();
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
    read_on();
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
    stream_.answered(*this, std::move(answer_));
  }

 private:
  // With mutex_ held, so that answer() waits for its end.
  void call_off() {
    if (!called_off_) stream_.handler_->called_off(this);
    called_off_ = true;
  }

  AnswerStream& stream_;
  RequestFrame frame_;
  bool stays_ = false, reads_on_ = false;  // of the thread that calls handle()
  std::mutex mutex_;
  // Guarded by mutex_.
  Answer answer_;
  bool handled_ = false, answered_ = false;  // handled_: handle() has returned, or stays
  bool lost_ = false, called_off_ = false;
};

AnswerStream::AnswerStream(RequestHandler* handler, uint64_t run, std::function<void(AnswerStream*)> done)
    : handler_(handler), run_(run), done_(std::move(done)) {
  StartRead(&read_);
}

// What is read next is asked for once this message is handed on: asking sends a message of its own, which is better
// behind the answer than before it. Behind a large one, the next may already be copied meanwhile, on another thread.
void AnswerStream::OnReadDone(bool ok) {
  constexpr size_t kLarge = size_t{64} << 10;
  RequestFrame frame;
  if (!ok || !read(read_, frame)) return lost();
  const bool is_large = frame.body.size() > kLarge;
  const auto request = std::make_shared<Request>(*this, std::move(frame));
  {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    open_.emplace(request.get(), request);
  }
  if (is_large) request->read_on();
  request->serve();
  request->read_on();
}

void AnswerStream::read_next() {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  read_.Clear();
  StartRead(&read_);
}

void AnswerStream::answered(Request& request, Answer answer) {
  grpc::ByteBuffer frame = answer_frame(request.id().number, run_, std::move(answer));
  std::shared_ptr<Request> last;  // may be the last to know of it
  bool finishes = false;
  {
    std::lock_guard lock(mutex_);
    const auto found = open_.find(&request);
    last = std::move(found->second);
    open_.erase(found);
    if (!lost_) write(frame);
    finishes = ends();
  }
  if (finishes) Finish(grpc::Status::OK);
}

void AnswerStream::write(const grpc::ByteBuffer& frame) {
  to_write_.push_back(frame);  // its bytes are shared
  if (to_write_.size() == 1) StartWrite(&to_write_.front());
}

void AnswerStream::OnWriteDone(bool ok) {
  bool finishes = false;
  {
    std::lock_guard lock(mutex_);
    to_write_.pop_front();
    if (!ok) lost_ = true;
    if (lost_) to_write_.clear();
    if (!to_write_.empty()) StartWrite(&to_write_.front());
    finishes = ends();
  }
  if (finishes) Finish(grpc::Status::OK);
}

bool AnswerStream::ends() {
  if (finished_ || !(lost_ || closing_) || !open_.empty() || !to_write_.empty()) return false;
  return finished_ = true;
}

void AnswerStream::lost() {
  std::vector<std::shared_ptr<Request>> left;
  bool finishes = false;
  {
    std::lock_guard lock(mutex_);
    lost_ = true;
    for (const auto& [request, kept] : open_) left.push_back(kept);
    finishes = ends();
  }
  if (finishes) return Finish(grpc::Status::OK);
  for (const std::shared_ptr<Request>& request : left) request->lost();
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

void AnswerStream::OnDone() {
  done_(this);
  delete this;
}

}  // namespace emplace
