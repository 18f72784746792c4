// What gRPC itself takes between two processes of this machine, for scripts/bench: a round trip, 1 MiB as a request and
// on a stream that stays open (the first ones of a connection, and the least of many), 64 MiB in pieces of 1 MiB on a
// stream. A JSON object of microseconds.
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMessageBytes = 1 << 30;
constexpr size_t kMiB = size_t{1} << 20;
constexpr char kRequest[] = "/bench/Request", kStream[] = "/bench/Stream";
constexpr int kUnderWay = 4;  // pieces of a large tensor without an answer

grpc::ByteBuffer buffer(size_t bytes) {
  const grpc::Slice slice(std::string(bytes, 'x'));
  return {&slice, 1};
}

/// Each message gets an empty one.
class Answering final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Answering(bool is_request) : is_request_(is_request) { StartRead(&read_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    read_.Clear();
    if (is_request_) return StartWriteAndFinish(&empty_, {}, grpc::Status::OK);
    StartWrite(&empty_);
  }
  void OnWriteDone(bool ok) override {
    if (is_request_) return;
    ok ? StartRead(&read_) : Finish(grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  const bool is_request_;
  grpc::ByteBuffer read_, empty_ = buffer(0);
};

class Service final : public grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Answering(context->method() == kRequest);
  }
};

[[noreturn]] void serve(int tell) {
  Service service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  builder.SetMaxReceiveMessageSize(kMessageBytes);
  const auto server = builder.BuildAndStart();
  if (write(tell, &port, sizeof port) != sizeof port) _exit(1);
  server->Wait();
  _exit(0);
}

/// A stream that stays open.
class Stream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Stream(grpc::GenericStub& stub) {
    stub.PrepareBidiStreamingCall(&context_, kStream, {}, this);
    StartRead(&read_);
    StartCall();
  }
  ~Stream() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
  }

  /// So many messages, each sent once the one before is on its way and no more than kUnderWay lack an answer.
  void send(const grpc::ByteBuffer& message, int count) {
    std::unique_lock lock(mutex_);
    const int end = answers_ + count;
    for (int i = 0; i < count; ++i) {
      changed_.wait(lock, [&] { return done_ || (!writes_ && end - count + i - answers_ < kUnderWay); });
      writes_ = true;
      StartWrite(&message);
    }
    changed_.wait(lock, [&] { return done_ || answers_ >= end; });
    if (done_) std::fprintf(stderr, "the stream has ended\n"), _exit(1);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    StartRead(&read_);
    const std::lock_guard lock(mutex_);
    ++answers_;
    changed_.notify_all();
  }
  void OnWriteDone(bool /*ok*/) override {
    const std::lock_guard lock(mutex_);
    writes_ = false;
    changed_.notify_all();
  }
  void OnDone(const grpc::Status& /*status*/) override {
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

  grpc::ClientContext context_;
  grpc::ByteBuffer read_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int answers_ = 0;
  bool writes_ = false, done_ = false;
};

void request(grpc::GenericStub& stub, const grpc::ByteBuffer& message) {
  grpc::ClientContext context;
  grpc::ByteBuffer answer;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  stub.UnaryCall(&context, kRequest, {}, &message, &answer, [&](const grpc::Status& status) {
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.error_message().c_str()), _exit(1);
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
}

template <class F>
std::vector<double> times_us(int count, int pause_ms, const F& run) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    if (pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    const auto start = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return times;
}

double least(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

class Peer {
 public:
  explicit Peer(int port) : address_("127.0.0.1:" + std::to_string(port)) {}
  /// By a connection of its own.
  grpc::GenericStub connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, kMessageBytes);
    const auto channel = grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments);
    channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(20));
    return grpc::GenericStub(channel);
  }

 private:
  const std::string address_;
};

void print(const char* name, double us, const char* end = ", ") { std::printf("\"%s\": %.1f%s", name, us, end); }

/// Of 1 MiB: the first of some new connections, the second, then what it takes once they stay, with and without pauses.
template <class Send>
void measure_piece(const char* how, const Send& with_new_connection) {
  constexpr int kConnections = 5, kTimes = 60, kPauseMs = 20;
  std::vector<double> first, second, later, paused;
  for (int i = 0; i < kConnections; ++i) {
    with_new_connection([&](const auto& send) {
      const std::vector<double> times = times_us(kTimes, 0, send);
      first.push_back(times[0]), second.push_back(times[1]);
      later.insert(later.end(), times.begin() + kTimes / 2, times.end());
      const std::vector<double> apart = times_us(10, kPauseMs, send);
      paused.insert(paused.end(), apart.begin(), apart.end());
    });
  }
  const std::string name(how);
  print((name + "_first").c_str(), median(first)), print((name + "_second").c_str(), median(second));
  print((name + "_median").c_str(), median(later)), print((name + "_least").c_str(), least(later));
  print((name + "_after_pauses").c_str(), median(paused));
}

void measure(const Peer& peer) {
  const grpc::ByteBuffer empty = buffer(0), piece = buffer(kMiB);
  std::printf("{");
  {
    grpc::GenericStub stub = peer.connect();
    print("request", least(times_us(300, 0, [&] { request(stub, empty); })));
    Stream stream(stub);
    print("round_trip", least(times_us(300, 0, [&] { stream.send(empty, 1); })));
  }
  measure_piece("mib_request", [&](const auto& with) {
    grpc::GenericStub stub = peer.connect();
    with([&] { request(stub, piece); });
  });
  measure_piece("mib_stream", [&](const auto& with) {
    grpc::GenericStub stub = peer.connect();
    Stream stream(stub);
    with([&] { stream.send(piece, 1); });
  });
  grpc::GenericStub stub = peer.connect();
  Stream stream(stub);
  print("mib64_stream", least(times_us(10, 0, [&] { stream.send(piece, 64); })), "}\n");
}

}  // namespace

int main() {
  int told[2];
  if (pipe(told) != 0) return 1;
  const pid_t server = fork();
  if (server == 0) serve(told[1]);
  int port = 0;
  const bool started = read(told[0], &port, sizeof port) == sizeof port;
  if (started) measure(Peer(port));
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  return started ? 0 : 1;
}
