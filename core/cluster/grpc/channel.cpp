#include "core/cluster/grpc/channel.h"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cluster/grpc/request_stream.h"
#include "core/cluster/grpc/wire.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAgainMs = 50;  // between attempts to reach a peer whose connection was lost
constexpr double kCallOffWait_s = 0.5;
constexpr std::chrono::milliseconds kLasting{500};
// Between two attempts to connect, which are 100 ms apart, gRPC fails requests with what the last one met: the peer may
// be there by now, as another process. After this time it is what the next attempt has met, too.
constexpr std::chrono::milliseconds kOldFailure{600};
constexpr size_t kMostOnStream = size_t{4} << 20;  // bytes: others do not wait behind it

std::shared_ptr<grpc::ChannelCredentials> credentials(const TransportOptions& options) {
  if (options.tls_ca.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({options.tls_ca, options.tls_key, options.tls_cert});
}

grpc::ChannelArguments arguments(const TransportOptions& options) {
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, static_cast<int>(options.max_message_bytes));
  args.SetInt(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, static_cast<int>(options.max_message_bytes));
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);  // what an attempt may take
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.heartbeat_s));
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.dead_after_s - options.heartbeat_s));
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as many as it takes
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);                // gRPC's own know nothing of ids
  return args;
}

/// Until the process ends: the last answer may be the last to know of the channel, and gRPC's threads cannot wait for
/// themselves.
std::shared_ptr<grpc::Channel> kept(std::shared_ptr<grpc::Channel> channel) {
  static std::mutex mutex;
  static auto* const all = new std::vector<std::shared_ptr<grpc::Channel>>;
  std::lock_guard lock(mutex);
  return all->emplace_back(std::move(channel));
}

/// By the monotonic clock: the other one may be set meanwhile.
gpr_timespec in(double seconds) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(milliseconds(seconds), GPR_TIMESPAN));
}

bool says(const grpc::Status& status, std::string_view text) {
  return status.error_message().find(text) != std::string::npos;
}

/// The connection on which a request was sent has ended, and not because the peer is gone or was silent for too long.
/// `known`: it has answered before; else it may not want this connection at all, for instance without TLS.
bool lost_connection(const grpc::Status& status, bool known) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return false;
  for (const char* end :
       {"Connection refused", "keepalive", "ping timeout", "Cancelling all calls", "GOAWAY", kOtherPort}) {
    if (says(status, end)) return false;
  }
  return known || !says(status, "failed to connect");
}

}  // namespace

/// What requests to one peer share; they keep it.
class GrpcLink {
 public:
  GrpcLink(const std::string& address, const TransportOptions& options)
      : token(options.token),
        mend_s(std::min(kMend_s * 0.75, options.dead_after_s)),
        silent_s(options.heartbeat_s),
        stub(kept(grpc::CreateCustomChannel(address, credentials(options), arguments(options)))),
        sender_(random_number()) {}

  const std::string token;
  const double mend_s;    // so long a lost connection is tried to be mended: less than the peer keeps its requests
  const double silent_s;  // the same where the peer has been silent already
  grpc::GenericStub stub;
  std::atomic<uint64_t> run = 0;  // of the peer's process; 0: it has not answered yet
  std::atomic<uint64_t> answers = 0;

  RequestId begin() {
    std::lock_guard lock(mutex_);
    open_.insert(++last_);
    return {sender_, last_, *open_.begin()};
  }
  void end(uint64_t number) {
    std::lock_guard lock(mutex_);
    open_.erase(number);
  }

  /// By a stream that nobody else uses meanwhile.
  std::shared_ptr<RequestStream> stream(const RequestId& id, std::string_view method, const grpc::Slice& body,
                                        const std::shared_ptr<StreamedRequest>& who) {
    for (;;) {
      std::shared_ptr<RequestStream> taken = streams_->take();
      if (taken->send(id.number, request_frame(id, method, body), who)) return taken;
    }
  }

  /// A request of the transport itself, whose number, and whose answer, nobody keeps.
  void call_off(uint64_t number, std::function<void()> done) {
    struct Call {
      grpc::ClientContext context;
      grpc::ByteBuffer body, reply;
    };
    const auto call = std::make_shared<Call>();
    call->body = buffer_of(std::make_shared<const std::string>(std::to_string(number)));
    call->context.AddMetadata(kTokenKey, token);
    call->context.AddMetadata(kRequestKey, bytes_of(RequestId{sender_, 0, 0}));
    call->context.set_deadline(in(kCallOffWait_s));
    stub.UnaryCall(&call->context, kCallOffMethod, grpc::StubOptions(), &call->body, &call->reply,
                   [call, done = std::move(done)](const grpc::Status&) { done(); });
  }

 private:
  static uint64_t random_number() {
    std::random_device device;
    return ((uint64_t{device()} << 32) | device()) | 1;
  }

  const uint64_t sender_;
  const std::shared_ptr<RequestStreams> streams_ = std::make_shared<RequestStreams>(stub, token);
  std::mutex mutex_;
  // Guarded by mutex_.
  uint64_t last_ = 0;
  std::set<uint64_t> open_;  // numbers without an answer
};

namespace {

/// Goes by a stream at first; a call of its own is what has a time limit, is large, or is sent again.
class GrpcRequest final : public OutgoingRequest,
                          public StreamedRequest,
                          public std::enable_shared_from_this<GrpcRequest> {
 public:
  GrpcRequest(std::shared_ptr<GrpcLink> link, std::string_view method, std::string body, double timeout_s,
              AnswerSink* sink)
      : link_(std::move(link)),
        method_(method),
        body_(slice_of(std::make_shared<const std::string>(std::move(body)))),
        id_(link_->begin()),
        sink_(sink) {
    if (timeout_s > 0) deadline_ = in(timeout_s);
  }

  /// It lives until the answer is there.
  void start() {
    started_ = begun_ = Clock::now();
    if (deadline_ || body_.size() > kMostOnStream) return attempt();
    stream_ = link_->stream(id_, method_, body_, shared_from_this());
  }
  void answered(AnswerFrame frame) override {
    link_->run = frame.run;
    ++link_->answers;
    finish(std::move(frame.answer));
  }
  void broken(const grpc::Status& why) override { ended(why); }

  void attempt() {
    {
      std::lock_guard lock(mutex_);
      waits_ = false;
      if (!called_off_) {
        context_ = std::make_unique<grpc::ClientContext>();
        reply_.Clear();
      }
    }
    if (called_off_) return failed(grpc::Status::CANCELLED);
    begun_ = Clock::now();
    context_->AddMetadata(kTokenKey, link_->token);
    context_->AddMetadata(kRequestKey, bytes_of(id_));
    if (const uint64_t run = link_->run; failure_ && run != 0) context_->AddMetadata(kPortKey, bytes_of(run));
    if (deadline_) context_->set_deadline(*deadline_);
    request_ = buffer_of(body_);
    link_->stub.UnaryCall(context_.get(), method_, grpc::StubOptions(), &request_, &reply_,
                          [self = shared_from_this()](const grpc::Status& status) { self->replied(status); });
  }

  void call_off() override {
    {
      std::lock_guard lock(mutex_);
      if (called_off_) return;
      called_off_ = true;
      if (waits_) return alarm_->Cancel();
    }
    // The peer hears of it first: else it would take the end of the request for that of the connection, and wait.
    link_->call_off(id_.number, [self = shared_from_this()] { self->give_up(); });
  }

 private:
  void give_up() {
    if (stream_ && stream_->give_up(id_.number)) return failed(grpc::Status::CANCELLED);
    grpc::ClientContext* call = nullptr;
    {
      std::lock_guard lock(mutex_);
      call = context_.get();  // stays: what was called off is not sent again
    }
    if (call) call->TryCancel();
  }

  /// Of a call of its own.
  void replied(const grpc::Status& status) {
    if (!status.ok()) return ended(status);
    if (const auto& told = context_->GetServerInitialMetadata(); told.contains(kPortKey)) {
      const grpc::string_ref run = told.find(kPortKey)->second;
      link_->run = number_of({run.data(), run.size()});
      ++link_->answers;
    }
    finish({0, {}, text_of(reply_)});
  }

  void ended(const grpc::Status& status) {
    if (!sends_again(status)) return failed(status);
    std::lock_guard lock(mutex_);
    waits_ = !called_off_;
    const bool soon = attempts_++ == 0 || called_off_;
    alarm_ = std::make_unique<grpc::Alarm>();  // the one before may still be calling attempt()
    alarm_->Set(in((soon ? 1 : kAgainMs) * 1e-3), [self = shared_from_this()](bool) { self->attempt(); });
  }

  bool sends_again(const grpc::Status& status) {
    const auto now = Clock::now();
    // It has not left this process. What has a time limit asks who is there, and asks again by itself.
    const bool is_unsent = status.error_code() == grpc::StatusCode::UNAVAILABLE && says(status, "failed to connect");
    if (!failure_ && is_unsent && !deadline_ && now - started_ < kOldFailure) return true;
    const bool is_lost = lost_connection(status, link_->run != 0);
    if (!failure_ && !is_lost) return false;
    // The time begins anew where there was a connection meanwhile. Who takes connections only to close them is none.
    const bool was_there = link_->answers != answers_ || now - begun_ > kLasting;
    if (!failure_ || (is_lost && was_there)) {
      failure_ = status, answers_ = link_->answers;
      const double time = says(status, "timed out") ? link_->silent_s : link_->mend_s;
      until_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(time));
    }
    return status.error_code() == grpc::StatusCode::UNAVAILABLE && now < until_ &&
           !says(status, "Connection refused") && !says(status, kOtherPort);
  }

  void failed(const grpc::Status& status) {
    const bool is_loss = failure_ && status.error_code() == grpc::StatusCode::UNAVAILABLE;
    const grpc::Status& told = is_loss ? *failure_ : status;  // why the connection was lost, not why it stays so
    finish({static_cast<int>(told.error_code()), told.error_message(), {}});
  }

  void finish(Answer answer) {
    link_->end(id_.number);
    sink_->take(std::move(answer));
  }

  const std::shared_ptr<GrpcLink> link_;
  const std::string method_;
  const grpc::Slice body_;
  const RequestId id_;
  AnswerSink* const sink_;
  std::shared_ptr<RequestStream> stream_;  // the first attempt's; null: it was a call
  std::optional<gpr_timespec> deadline_;
  std::optional<grpc::Status> failure_;  // the loss of the connection that it was sent on first
  Clock::time_point until_;              // until when it is sent again
  Clock::time_point started_, begun_;    // the first attempt, the last
  uint64_t answers_ = 0;                 // of the link, at the last loss
  int attempts_ = 0;
  grpc::ByteBuffer request_, reply_;

  std::mutex mutex_;
  // Guarded by mutex_; context_ is replaced while no attempt is under way.
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::Alarm> alarm_;
  bool waits_ = false;  // for the next attempt
  std::atomic<bool> called_off_ = false;
};

}  // namespace

GrpcChannel::GrpcChannel(const std::string& address, const TransportOptions& options)
    : link_(std::make_shared<GrpcLink>(address, options)) {}

std::shared_ptr<OutgoingRequest> GrpcChannel::send(std::string_view method, std::string body, double timeout_s,
                                                   AnswerSink* sink) {
  auto request = std::make_shared<GrpcRequest>(link_, method, std::move(body), timeout_s, sink);
  request->start();
  return request;
}

}  // namespace emplace
