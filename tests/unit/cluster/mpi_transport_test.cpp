// MpiTransport, between two ranks of one process.
#include "core/cluster/mpi_transport.h"

#include <catch2/catch.hpp>
#include <deque>
#include <future>

#include "core/base/status.h"
#include "core/cluster/peer.h"

namespace emplace {
namespace {

/// Two ranks in one process.
struct Mail {
  std::mutex mutex;
  std::deque<std::pair<int, std::string>> box[2];  // guarded by mutex
};

class Rank final : public MessagePassing {
 public:
  Rank(Mail& mail, int number) : mail_(mail), number_(number) {}
  int rank() const override { return number_; }
  int size() const override { return 2; }
  void send(int to, std::string bytes) override {
    std::lock_guard lock(mail_.mutex);
    mail_.box[to].emplace_back(number_, std::move(bytes));
  }
  bool poll(int& from, std::string& bytes) override {
    std::lock_guard lock(mail_.mutex);
    auto& box = mail_.box[number_];
    if (box.empty()) return false;
    std::tie(from, bytes) = std::move(box.front());
    box.pop_front();
    return true;
  }
  int64_t start_all_to_all(const char*, const int*, const int*, char*, const int*, const int*) override { return 0; }
  int64_t start_all_gather(char*, const int*, const int*) override { return 0; }
  bool ended(int64_t) override { return true; }
  bool wait_for_all(double) override { return true; }
  void finish() override {}

 private:
  Mail& mail_;
  const int number_;
};

/// Answers "/say" at once with what was sent, "/keep" never.
class Echo final : public RequestHandler {
 public:
  void handle(IncomingRequest* request) override {
    if (request->method() == "/keep") return;
    if (request->method() == "/fail") return request->answer({9, "no", {}});
    request->answer({0, {}, request->body() + "!"});
  }
  void called_off(IncomingRequest* request) override {
    std::lock_guard lock(mutex_);
    called_off_.push_back(request);
    changed_.notify_all();
  }
  /// Waits for one, and answers it all the same.
  void await_call_off() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !called_off_.empty(); });
    IncomingRequest* const request = called_off_.front();
    called_off_.pop_front();
    lock.unlock();
    request->answer({});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<IncomingRequest*> called_off_;  // guarded by mutex_
};

struct Two {
  Mail mail;
  Rank ranks[2] = {{mail, 0}, {mail, 1}};
  MpiTransport first{ranks[0]}, second{ranks[1]};
  TransportOptions options;
  std::string error;
};

}  // namespace

TEST_CASE("a rank's request is answered by the rank of its address, which may be its own", "[cluster]") {
  Two two;
  Echo echo;
  const std::unique_ptr<ListeningPort> port(two.second.listen("rank:1", two.options, &echo, &two.error));
  CHECK(port->number() == 1);
  for (MpiTransport* from : {&two.first, &two.second}) {
    Peer peer(*from, "/job:worker/replica:0/task:1", MpiTransport::address(1), two.options);
    const std::string large(3 << 20, 'x');
    CHECK(peer.ask("/say", large).body == large + "!");
    const Answer answer = peer.ask("/fail", "");
    CHECK(answer.code == 9);
    CHECK(answer.message == "no");
  }
}

TEST_CASE("a rank that takes no requests yet is not there", "[cluster]") {
  Two two;
  Peer peer(two.first, "", "rank:1", two.options);
  const Answer answer = peer.ask("/say", "x");
  CHECK(answer.code == static_cast<int>(Code::kUnavailable));
  CHECK(why_silent(answer, 15) == "Connection refused");
}

TEST_CASE("a request between ranks is called off, or ends when its time is up", "[cluster]") {
  Two two;
  Echo echo;
  const std::unique_ptr<ListeningPort> port(two.second.listen("rank:1", two.options, &echo, &two.error));
  Peer peer(two.first, "", "rank:1", two.options);
  CHECK(peer.ask("/keep", "", nullptr, 0.05).code == static_cast<int>(Code::kDeadlineExceeded));
  echo.await_call_off();
  std::promise<int> code;
  const auto request = peer.send("/keep", "", [&](const Answer& answer) { code.set_value(answer.code); });
  request->call_off();
  CHECK(code.get_future().get() == static_cast<int>(Code::kCancelled));
  echo.await_call_off();
  CHECK(peer.ask("/say", "on").body == "on!");
}

TEST_CASE("a message between ranks that is none changes nothing", "[cluster]") {
  Two two;
  Echo echo;
  const std::unique_ptr<ListeningPort> port(two.second.listen("rank:1", two.options, &echo, &two.error));
  for (const std::string rubbish : {"", "short", "0123456789012345678901234567890123456789"})
    two.ranks[0].send(1, rubbish);
  Peer peer(two.first, "", "rank:1", two.options);
  CHECK(peer.ask("/say", "on").body == "on!");
}

}  // namespace emplace
