#include "core/cluster/mpi_transport.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/cat.h"
#include "core/base/status.h"
#include "core/cluster/cluster_spec.h"

namespace emplace {

/// What stands behind a message's body and text. All ranks are of one build.
struct MpiTransport::Trailer {
  enum class Kind : uint32_t { kRequest, kAnswer, kCallOff };
  Kind kind;
  int32_t code = 0;  // of an answer
  uint64_t id = 0;   // of the request, among those of the rank that sent it
  uint64_t text_bytes = 0;
};

/// A request that has come.
class MpiTransport::Incoming final : public IncomingRequest {
 public:
  Incoming(MpiTransport& transport, int from, uint64_t id, std::string method, std::string body)
      : transport_(transport), from_(from), id_(id), method_(std::move(method)), body_(std::move(body)) {}

  std::string_view method() const override { return method_; }
  std::string& body() override { return body_; }
  void answer(Answer answer) override {
    {
      std::lock_guard lock(mutex_);
      answered_ = true;
    }
    transport_.answer(from_, id_, std::move(answer));
  }
  void call_off(RequestHandler& handler) {
    std::lock_guard lock(mutex_);  // answer() waits for its end
    if (!answered_) handler.called_off(this);
  }

 private:
  MpiTransport& transport_;
  const int from_;
  const uint64_t id_;
  const std::string method_;
  std::string body_;
  std::mutex mutex_;
  bool answered_ = false;  // guarded by mutex_
};

class MpiTransport::Outgoing final : public OutgoingRequest {
 public:
  Outgoing(MpiTransport& transport, int to, uint64_t id) : transport_(transport), to_(to), id_(id) {}
  void call_off() override { transport_.call_off(to_, id_); }

 private:
  MpiTransport& transport_;
  const int to_;
  const uint64_t id_;
};

class MpiTransport::Channel final : public PeerChannel {
 public:
  Channel(MpiTransport& transport, int to) : transport_(transport), to_(to) {}
  std::shared_ptr<OutgoingRequest> send(std::string_view method, std::string body, double timeout_s,
                                        AnswerSink* sink) override {
    return std::make_shared<Outgoing>(transport_, to_,
                                      transport_.send_request(to_, method, std::move(body), timeout_s, sink));
  }

 private:
  MpiTransport& transport_;
  const int to_;
};

class MpiTransport::Port final : public ListeningPort {
 public:
  explicit Port(MpiTransport& transport) : transport_(transport) {}
  ~Port() override { transport_.listen_with(nullptr); }
  int number() const override { return transport_.rank(); }

 private:
  MpiTransport& transport_;
};

MpiTransport::MpiTransport(MessagePassing& ranks) : ranks_(ranks), thread_([this] { serve(); }) {}

MpiTransport::~MpiTransport() { stop(); }

void MpiTransport::stop() {
  closing_ = true;
  if (thread_.joinable()) thread_.join();
}

std::string MpiTransport::address(int rank) { return cat("rank:", rank); }

int MpiTransport::rank_of(const std::string& address) {
  const Result<HostPort> rank = parse_host_port(address);
  return rank.ok() ? rank->port : -1;
}

PeerChannel* MpiTransport::connect(const std::string& address, const TransportOptions& /*options*/) {
  return new Channel(*this, std::max(rank_of(address), 0));
}

ListeningPort* MpiTransport::listen(const std::string& /*address*/, const TransportOptions& /*options*/,
                                    RequestHandler* handler, std::string* /*error*/) {
  listen_with(handler);
  return new Port(*this);
}

void MpiTransport::listen_with(RequestHandler* handler) {
  std::lock_guard lock(handler_mutex_);
  handler_ = handler;
}

void MpiTransport::finish() {
  constexpr double kForTheOthers = 10;
  const bool all = ranks_.wait_for_all(kForTheOthers);
  stop();
  if (all) ranks_.finish();
}

uint64_t MpiTransport::send_request(int to, std::string_view method, std::string body, double timeout_s,
                                    AnswerSink* sink) {
  const bool is_too_large = body.size() + method.size() + sizeof(Trailer) > kMostBytes;
  uint64_t id = 0;
  {
    std::lock_guard lock(mutex_);
    id = ++last_id_;
    Pending& pending = pending_[id];
    pending.sink = sink, pending.to = to;
    if (timeout_s > 0)
      pending.deadline =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  }
  if (is_too_large) {
    later([this, id, size = body.size()] {
      answer_arrived(id, {static_cast<int>(Code::kResourceExhausted),
                          cat("a tensor of ", size, " bytes is more than one MPI message holds"),
                          {}});
    });
  } else {
    post(to, std::move(body), method, {Trailer::Kind::kRequest, 0, id});
  }
  return id;
}

void MpiTransport::call_off(int to, uint64_t id) {
  post(to, {}, {}, {Trailer::Kind::kCallOff, 0, id});
  later([this, id] { answer_arrived(id, {static_cast<int>(Code::kCancelled), "called off", {}}); });
}

void MpiTransport::answer(int to, uint64_t id, Answer answer) {
  std::shared_ptr<Incoming> answered;  // lives until here
  {
    std::lock_guard lock(mutex_);
    const auto found = open_.find({to, id});
    if (found == open_.end()) return;
    answered = std::move(found->second);
    open_.erase(found);
  }
  if (answer.body.size() + answer.message.size() + sizeof(Trailer) > kMostBytes)
    answer = {static_cast<int>(Code::kResourceExhausted), "an answer is more than one MPI message holds", {}};
  post(to, std::move(answer.body), answer.message, {Trailer::Kind::kAnswer, answer.code, id});
}

void MpiTransport::post(int to, std::string body, std::string_view text, Trailer trailer) {
  trailer.text_bytes = text.size();
  std::string message = std::move(body);
  message.append(text).append(reinterpret_cast<const char*>(&trailer), sizeof trailer);
  if (to == rank())
    return later([this, to, message = std::move(message)]() mutable { arrived(to, std::move(message)); });
  ranks_.send(to, std::move(message));
  std::lock_guard lock(mutex_);
  busy_ = true;
  changed_.notify_one();
}

void MpiTransport::later(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_one();
}

// A blocking receive would keep a processor busy. Looks often while something happens, else ever less so.
void MpiTransport::serve() {
  using std::chrono::microseconds;
  constexpr microseconds kShortest{50}, kLongest{1000};
  microseconds pause = kShortest;
  int from = 0;
  std::string message;
  while (!closing_) {
    if (ranks_.poll(from, message)) {
      arrived(from, std::exchange(message, {}));
      pause = kShortest;
      continue;
    }
    end_late_requests();
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, pause, [&] { return busy_ || !work_.empty(); })) {
        pause = kShortest;
      } else {
        pause = std::min(pause + pause / 32 + microseconds(1), kLongest);
      }
      busy_ = false;
      if (!work_.empty()) work = std::move(work_.front()), work_.pop_front();
    }
    if (work) work();
  }
}

void MpiTransport::end_late_requests() {
  std::vector<std::pair<uint64_t, int>> late;
  {
    std::lock_guard lock(mutex_);
    if (pending_.empty()) return;
    const auto now = Clock::now();
    for (const auto& [id, pending] : pending_) {
      if (pending.deadline && *pending.deadline <= now) late.emplace_back(id, pending.to);
    }
  }
  for (const auto& [id, to] : late) {
    post(to, {}, {}, {Trailer::Kind::kCallOff, 0, id});
    answer_arrived(id, {static_cast<int>(Code::kDeadlineExceeded), "Deadline Exceeded", {}});
  }
}

void MpiTransport::arrived(int from, std::string message) {
  Trailer trailer{Trailer::Kind::kRequest};
  if (message.size() < sizeof trailer) return;
  const size_t end = message.size() - sizeof trailer;
  std::memcpy(&trailer, message.data() + end, sizeof trailer);
  if (trailer.text_bytes > end) return;
  std::string text = message.substr(end - trailer.text_bytes, trailer.text_bytes);
  message.resize(end - trailer.text_bytes);
  switch (trailer.kind) {
    case Trailer::Kind::kRequest:
      return request_arrived(from, trailer.id, std::move(text), std::move(message));
    case Trailer::Kind::kAnswer:
      return answer_arrived(trailer.id, {trailer.code, std::move(text), std::move(message)});
    case Trailer::Kind::kCallOff:
      return call_off_arrived(from, trailer.id);
  }
}

void MpiTransport::request_arrived(int from, uint64_t id, std::string method, std::string body) {
  const auto request = std::make_shared<Incoming>(*this, from, id, std::move(method), std::move(body));
  {
    std::lock_guard lock(mutex_);
    open_[{from, id}] = request;
  }
  std::lock_guard lock(handler_mutex_);
  if (handler_) return handler_->handle(request.get());
  request->answer({static_cast<int>(Code::kUnavailable), "Connection refused", {}});
}

void MpiTransport::answer_arrived(uint64_t id, Answer answer) {
  AnswerSink* sink = nullptr;
  {
    std::lock_guard lock(mutex_);
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;  // it was late, or called off
    sink = found->second.sink;
    pending_.erase(found);
  }
  sink->take(std::move(answer));
}

void MpiTransport::call_off_arrived(int from, uint64_t id) {
  std::shared_ptr<Incoming> request;
  {
    std::lock_guard lock(mutex_);
    const auto found = open_.find({from, id});
    if (found != open_.end()) request = found->second;
  }
  std::lock_guard lock(handler_mutex_);
  if (request && handler_) request->call_off(*handler_);
}

}  // namespace emplace
