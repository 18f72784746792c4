// Part of core/cluster/transport.h: requests by gRPC. Its generic interface carries bytes, so that nothing is
// generated.
#include "core/cluster/transport.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace emplace {
namespace {

constexpr char kTokenKey[] = "emplace-token";
constexpr int kHandshakeMs = 10000;  // who connects and says nothing is let go; gRPC's own is two minutes

/// The buffer owns the text from now on; nothing is copied.
grpc::ByteBuffer buffer_of(std::string text) {
  auto* owner = new std::string(std::move(text));
  const grpc::Slice slice(
      owner->data(), owner->size(), [](void* kept) { delete static_cast<std::string*>(kept); }, owner);
  return {&slice, 1};
}

std::string text_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return text;
  text.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

int milliseconds(double seconds) { return static_cast<int>(seconds * 1e3); }

/// In time that does not tell how much of it is right.
bool equal_secrets(const std::string& wanted, std::string_view found) {
  unsigned difference = wanted.size() == found.size() ? 0 : 1;
  for (size_t i = 0; i < wanted.size(); ++i)
    difference |= static_cast<unsigned>(wanted[i] ^ (i < found.size() ? found[i] : 0));
  return difference == 0;
}

std::shared_ptr<grpc::ChannelCredentials> credentials(const TransportOptions& options) {
  if (options.tls_ca.empty()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({options.tls_ca, options.tls_key, options.tls_cert});
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TransportOptions& options) {
  if (options.tls_ca.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  tls.pem_root_certs = options.tls_ca;
  tls.pem_key_cert_pairs.push_back({options.tls_key, options.tls_cert});
  return grpc::SslServerCredentials(tls);
}

/// A server that cannot accept a connection for want of a file descriptor does not accept any later one (gRPC 1.51).
void raise_limit_of_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 1 << 16));
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::atomic<bool> address_was_taken = false;

/// gRPC's own lines are nobody's but GRPC_VERBOSITY asks for them; why there is no port is told in no other way.
void take_log_line(gpr_log_func_args* line) {
  if (std::strstr(line->message, "Address already in use")) address_was_taken = true;
  if (std::getenv("GRPC_VERBOSITY")) std::fprintf(stderr, "%s\n", line->message);
}

class GrpcRequest final : public OutgoingRequest {
 public:
  GrpcRequest(std::string body, AnswerSink* sink) : body_(buffer_of(std::move(body))), sink_(sink) {}

  /// `self` lives until the answer is there.
  void start(const std::shared_ptr<GrpcRequest>& self, grpc::GenericStub& stub, const std::string& method,
             const std::string& token, double timeout_s) {
    context_.AddMetadata(kTokenKey, token);
    if (timeout_s > 0)
      context_.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(milliseconds(timeout_s)));
    stub.UnaryCall(&context_, method, grpc::StubOptions(), &body_, &reply_, [this, self](const grpc::Status& status) {
      sink_->take({static_cast<int>(status.error_code()), status.error_message(),
                   status.ok() ? text_of(reply_) : std::string()});
    });
  }
  void call_off() override { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  grpc::ByteBuffer body_, reply_;
  AnswerSink* const sink_;
};

class GrpcChannel final : public PeerChannel {
 public:
  GrpcChannel(const std::string& address, const TransportOptions& options)
      : token_(options.token),
        stub_(kept(grpc::CreateCustomChannel(address, credentials(options), arguments(options)))) {}

  std::shared_ptr<OutgoingRequest> send(std::string_view method, std::string body, double timeout_s,
                                        AnswerSink* sink) override {
    auto request = std::make_shared<GrpcRequest>(std::move(body), sink);
    request->start(request, stub_, std::string(method), token_, timeout_s);
    return request;
  }

 private:
  /// Until the process ends: the last answer may be the last to know of the channel, and gRPC's threads cannot wait for
  /// themselves.
  static std::shared_ptr<grpc::Channel> kept(std::shared_ptr<grpc::Channel> channel) {
    static std::mutex mutex;
    static auto* const all = new std::vector<std::shared_ptr<grpc::Channel>>;
    std::lock_guard lock(mutex);
    return all->emplace_back(std::move(channel));
  }
  static grpc::ChannelArguments arguments(const TransportOptions& options) {
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
    args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);                // a request is not made twice
    return args;
  }

  const std::string token_;
  grpc::GenericStub stub_;
};

/// One request on the server's side: read, handled, answered. gRPC keeps it until OnDone().
class GrpcReactor final : public grpc::ServerGenericBidiReactor, public IncomingRequest {
 public:
  GrpcReactor(std::string method, RequestHandler* handler, bool refused)
      : method_(std::move(method)), handler_(handler) {
    refused ? Finish({grpc::StatusCode::UNAUTHENTICATED,
                      "this task has another token; share one file by --token-file or EMPLACE_TOKEN_FILE"})
            : StartRead(&read_);
  }

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
    write_ = buffer_of(std::move(answer_.body));
    StartWriteAndFinish(&write_, {}, grpc::Status::OK);
  }

  const std::string method_;
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

class GrpcPort final : public ListeningPort, public grpc::CallbackGenericService {
 public:
  GrpcPort(const TransportOptions& options, RequestHandler* handler) : token_(options.token), handler_(handler) {}
  ~GrpcPort() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  bool start(const std::string& address, const TransportOptions& options) {
    raise_limit_of_files();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, server_credentials(options), &number_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
    builder.SetMaxSendMessageSize(static_cast<int>(options.max_message_bytes));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);  // peers may ask as often as they want
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.heartbeat_s));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.dead_after_s - options.heartbeat_s));
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    return server_ != nullptr && number_ > 0;
  }

  int number() const override { return number_; }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    const auto& given = context->client_metadata();
    const auto token = given.find(kTokenKey);
    const bool known = token != given.end() && equal_secrets(token_, {token->second.data(), token->second.size()});
    return new GrpcReactor(context->method(), handler_, !known);
  }

 private:
  const std::string token_;
  RequestHandler* const handler_;
  int number_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class GrpcTransport final : public Transport {
 public:
  PeerChannel* connect(const std::string& address, const TransportOptions& options) override {
    return new GrpcChannel(address, options);
  }
  ListeningPort* listen(const std::string& address, const TransportOptions& options, RequestHandler* handler,
                        std::string* error) override {
    address_was_taken = false;
    auto port = std::make_unique<GrpcPort>(options, handler);
    if (port->start(address, options)) return port.release();
    *error = "Could not start gRPC server";
    if (address_was_taken) *error += ": Address already in use";
    return nullptr;
  }
};

}  // namespace
}  // namespace emplace

extern "C" __attribute__((visibility("default"))) const emplace::TransportPlugin* emplace_cluster_transport() {
  static auto* const kTransport = new emplace::GrpcTransport;  // outlives threads of gRPC that end late
  static const emplace::TransportPlugin kPlugin = [] {
    gpr_set_log_function(emplace::take_log_line);
    emplace::TransportPlugin plugin;
    plugin.transport = kTransport;
    return plugin;
  }();
  return &kPlugin;
}
