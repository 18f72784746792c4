#include "core/cluster/grpc/port.h"

#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <mutex>
#include <random>
#include <utility>

#include "core/cluster/grpc/wire.h"

namespace emplace {
namespace {

constexpr int kGoodbyeMs = 100;      // for answers that are on their way when the port closes
constexpr int kHandshakeMs = 10000;  // who connects and says nothing is let go; gRPC's own is two minutes

/// In time that does not tell how much of it is right.
bool equal_secrets(const std::string& wanted, std::string_view found) {
  unsigned difference = wanted.size() == found.size() ? 0 : 1;
  for (size_t i = 0; i < wanted.size(); ++i)
    difference |= static_cast<unsigned>(wanted[i] ^ (i < found.size() ? found[i] : 0));
  return difference == 0;
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TransportOptions& options) {
  if (options.tls_ca.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = options.tls_ca;
  tls.pem_key_cert_pairs.push_back({options.tls_key, options.tls_cert});
  return grpc::SslServerCredentials(tls);
}

/// What a client that speaks no TLS hears, whatever version of HTTP it has; others hear nothing but the end.
std::string goodbye(const TransportOptions& options) {
  if (!options.tls_ca.empty()) return {};
  return "HTTP/1.1 503 No file descriptor is left (ulimit -n)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

/// One request: read, handled, answered. gRPC keeps it until OnDone().
class GrpcReactor final : public grpc::ServerGenericBidiReactor, public IncomingRequest {
 public:
  GrpcReactor(std::string method, RequestId id, RequestHandler* handler)
      : method_(std::move(method)), id_(id), handler_(handler) {
    StartRead(&read_);
  }
  explicit GrpcReactor(const grpc::Status& refusal) : handler_(nullptr) { Finish(refusal); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish({grpc::StatusCode::INVALID_ARGUMENT, "a request without content"});
    body_ = text_of(read_);
    read_.Clear();
    {
      std::lock_guard lock(mutex_);
      stage_ = Stage::kHandled;
    }
    handler_->handle(this);
    {
      std::lock_guard lock(mutex_);
      if (stage_ == Stage::kHandled && cancelled_) call_off();
      handled_ = true;
      if (stage_ != Stage::kAnswered) return;
    }
    finish();
  }
  void OnCancel() override {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (stage_ == Stage::kHandled && handled_) call_off();
  }
  void OnWriteDone(bool /*ok*/) override {}
  void OnDone() override { delete this; }

  std::string_view method() const override { return method_; }
  std::string& body() override { return body_; }
  RequestId id() const override { return id_; }
  void answer(Answer answer) override {
    {
      std::lock_guard lock(mutex_);
      stage_ = Stage::kAnswered;
      answer_ = std::move(answer);
      if (!handled_) return;
    }
    finish();
  }

 private:
  enum class Stage : uint8_t { kRead, kHandled, kAnswered };

  // With mutex_ held, so that answer() waits for its end.
  void call_off() {
    if (!called_off_) handler_->called_off(this);
    called_off_ = true;
  }
  // Without the lock: it may be the end of the reactor.
  void finish() {
    if (answer_.code != 0) return Finish({static_cast<grpc::StatusCode>(answer_.code), answer_.message});
    if (!answer_.shared) answer_.shared = std::make_shared<const std::string>(std::move(answer_.body));
    write_ = buffer_of(std::move(answer_.shared));
    StartWriteAndFinish(&write_, {}, grpc::Status::OK);
  }

  const std::string method_;
  const RequestId id_;
  RequestHandler* const handler_;
  grpc::ByteBuffer read_, write_;
  std::string body_;
  std::mutex mutex_;
  // Guarded by mutex_.
  Stage stage_ = Stage::kRead;
  Answer answer_;
  bool cancelled_ = false, called_off_ = false;
  bool handled_ = false;  // handle() has returned
};

uint64_t random_number() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace

GrpcPort::GrpcPort(const TransportOptions& options, RequestHandler* handler)
    : token_(options.token), run_(random_number()), handler_(handler) {}

GrpcPort::~GrpcPort() {
  acceptor_.stop();
  {
    std::lock_guard lock(mutex_);
    for (AnswerStream* stream : streams_) stream->close();
  }
  if (server_)
    server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(kGoodbyeMs, GPR_TIMESPAN)));
}

std::string GrpcPort::start(const std::string& address, const TransportOptions& options) {
  if (std::string why = acceptor_.listen(address); !why.empty()) return why;
  grpc::ServerBuilder builder;
  connections_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, server_credentials(options));
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);  // peers may ask as often as they want
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.heartbeat_s));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.dead_after_s - options.heartbeat_s));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.RegisterCallbackGenericService(this);
  server_ = builder.BuildAndStart();
  if (!server_) return "gRPC does not start";
  const auto take = [this](int listener, int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters made;
    made.listener_fd = listener, made.fd = connection;
    connections_->HandleNewConnection(&made);
  };
  acceptor_.start(
      take, [this] { handler_->connection_refused("no file descriptor is left"); }, goodbye(options));
  return {};
}

grpc::ServerGenericBidiReactor* GrpcPort::CreateReactor(grpc::GenericCallbackServerContext* context) {
  const auto& given = context->client_metadata();
  const auto value = [&](const char* key) {
    const auto found = given.find(key);
    return found == given.end() ? std::string_view() : std::string_view(found->second.data(), found->second.size());
  };
  if (!equal_secrets(token_, value(kTokenKey))) {
    return new GrpcReactor(
        grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                     "this task has another token; share one file by --token-file or EMPLACE_TOKEN_FILE"));
  }
  if (const std::string_view wanted = value(kPortKey); !wanted.empty() && number_of(wanted) != run_)
    return new GrpcReactor(grpc::Status(grpc::StatusCode::UNAVAILABLE, kOtherPort));
  if (context->method() == kStreamMethod) return open_stream(context);
  context->AddInitialMetadata(kPortKey, bytes_of(run_));
  return new GrpcReactor(context->method(), request_id(value(kRequestKey)), handler_);
}

grpc::ServerGenericBidiReactor* GrpcPort::open_stream(grpc::GenericCallbackServerContext* context) {
  std::lock_guard lock(mutex_);
  auto* made = new AnswerStream(context, handler_, run_, [this](AnswerStream* ended) {
    std::lock_guard erasing(mutex_);
    streams_.erase(ended);
  });
  streams_.insert(made);
  return made;
}

}  // namespace emplace
