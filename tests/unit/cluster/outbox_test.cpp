// From one task to another: small pieces share a message, large ones come in chunks, and who runs ahead waits.
#include "core/cluster/outbox.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "core/base/cat.h"
#include "core/cluster/piece_intake.h"
#include "tests/unit/cluster/cluster_case.h"

using namespace emplace;
using namespace emplace::testing;
using message::kChunkBytes;
using message::PushMessage;

namespace {

/// Keeps what is sent until the test answers it.
class Wire final : public Transport {
 public:
  PeerChannel* connect(const std::string&, const TransportOptions&) override { return new Channel(*this); }
  ListeningPort* listen(const std::string&, const TransportOptions&, RequestHandler*, std::string*) override {
    return nullptr;
  }
  std::vector<std::string> sent;
  size_t answered = 0;

  bool answer(Answer answer = {}) {
    if (answered == sinks_.size()) return false;
    sinks_[answered++]->take(std::move(answer));
    return true;
  }

 private:
  class Request final : public OutgoingRequest {
   public:
    void call_off() override {}
  };
  class Channel final : public PeerChannel {
   public:
    explicit Channel(Wire& wire) : wire_(wire) {}
    std::shared_ptr<OutgoingRequest> send(std::string_view, std::string body, double, AnswerSink* sink) override {
      wire_.sent.push_back(std::move(body));
      wire_.sinks_.push_back(sink);
      return std::make_shared<Request>();
    }

   private:
    Wire& wire_;
  };
  std::vector<AnswerSink*> sinks_;
};

Tensor numbers(int64_t count, float first = 0) {
  Tensor made = Tensor::allocate(DType::kFloat, Shape{count}).take();
  for (int64_t i = 0; i < count; ++i) made.data<float>()[i] = first + static_cast<float>(i);
  return made;
}

struct Line {
  Wire wire;
  std::vector<std::string> told;
  std::shared_ptr<Outbox> outbox = std::make_shared<Outbox>(
      7, 1, std::make_shared<Peer>(wire, "/job:a/replica:0/task:0", "localhost:1", TransportOptions{}),
      [this](uint64_t step, const Status& why) { told.push_back(cat(step, ": ", why.message())); });
  PieceIntake intake{2};
  Inbox& inbox = intake.inbox();
  std::atomic<bool> stopped = false;
  StopSignal stop{&stopped};

  Line() { outbox->begin(1); }
  Status put(uint32_t copy, const Tensor& value, uint64_t iteration = 0) {
    return outbox->put(copy, {value, false, iteration}, stop);
  }
  Status arrive(size_t message) { return intake.take(message::read<PushMessage>(wire.sent[message]).take()); }
  Tensor taken(uint32_t copy, uint64_t iteration = 0) { return inbox.take({1, copy, iteration}, stop).take().value; }
};

/// A request that is only answered.
class Waiting final : public IncomingRequest {
 public:
  std::string_view method() const override { return message::method::kPush; }
  std::string& body() override { return body_; }
  void answer(Answer answer) override {
    CHECK(answer.code == 0);
    ++answers;
  }
  int answers = 0;

 private:
  std::string body_;
};

}  // namespace

TEST_CASE("pieces of one step and peer share messages; the first does not wait") {
  Line line;
  for (uint32_t copy = 0; copy < 100; ++copy) REQUIRE(line.put(copy, numbers(256, static_cast<float>(copy))).ok());
  CHECK(line.wire.sent.size() == 2);  // the first one, and what is enough for a message
  line.outbox->flush();
  REQUIRE(line.wire.sent.size() == 3);
  for (size_t i = 0; i < 3; ++i) REQUIRE(line.arrive(i).ok());
  for (uint32_t copy = 0; copy < 100; ++copy) CHECK(same(line.taken(copy), numbers(256, static_cast<float>(copy))));
  REQUIRE(line.put(100, numbers(1)).ok());
  CHECK(line.wire.sent.size() == 3);
  line.wire.answer();  // gathers no longer than until an answer comes
  CHECK(line.wire.sent.size() == 4);
  REQUIRE(line.put(101, numbers(1)).ok());
  line.outbox->begin(2);  // what is left of a step goes with it
  line.outbox->flush();
  CHECK(line.wire.sent.size() == 4);
  while (line.wire.answer()) {
  }
}

TEST_CASE("a piece that cannot be sent fails the step, and no other one") {
  Line line;
  REQUIRE(line.put(0, numbers(1)).ok());
  REQUIRE(line.outbox->failure().ok());
  line.wire.answer({static_cast<int>(Code::kUnavailable), "Socket closed", {}});
  const std::string lost = "peer lost: /job:a/replica:0/task:0 localhost:1 (connection closed)";
  CHECK(line.outbox->failure().message() == lost);
  CHECK(line.told == std::vector<std::string>{"1: " + lost});  // to the master
  line.outbox->begin(2);
  CHECK(line.outbox->failure().ok());
}

TEST_CASE("a piece for a session that its receiver does not know fails the step") {
  Line line;
  REQUIRE(line.put(0, numbers(1)).ok());
  line.wire.answer({static_cast<int>(Code::kNotFound), "no such session", {}});
  const std::string lost = "/job:a/replica:0/task:0 localhost:1 restarted; its variables are lost";
  CHECK(line.outbox->failure().message() == lost);
  CHECK(line.outbox->failure().blame() == kBlamePeer);
  CHECK(line.told == std::vector<std::string>{"1: " + lost});
}

TEST_CASE("chunks of a large tensor come in any order, and twice") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Line line;
    std::mt19937_64 random(seed);
    const auto count = static_cast<int64_t>(3 * kChunkBytes / 4 + random() % kChunkBytes);
    const Tensor wanted = numbers(count);
    REQUIRE(line.put(3, wanted).ok());
    while (line.wire.answer()) {
    }
    std::vector<size_t> order;
    for (size_t i = 0; i < line.wire.sent.size(); ++i) order.push_back(i), order.push_back(i);
    std::shuffle(order.begin(), order.end(), random);
    INFO("seed " << seed << ", " << count << " elements in " << line.wire.sent.size() << " messages");
    CHECK(line.wire.sent.size() >= 3);
    for (const size_t message : order) REQUIRE(line.arrive(message).ok());
    CHECK(line.inbox.size() == 1);
    CHECK(same(line.taken(3), wanted));
  }
}

TEST_CASE("a chunk that is no part of its tensor is refused, and takes no memory") {
  Line line;
  std::string data(kChunkBytes, 'x');
  const auto push = [&](message::ChunkMessage chunk, uint64_t step = 1, uint32_t from = 1) {
    return line.intake.take({7, step, from, {}, {std::move(chunk)}}).code();
  };
  const int real = static_cast<int>(DType::kFloat);
  const auto size = static_cast<int64_t>(kChunkBytes / 2);  // two chunks of floats
  CHECK(push({0, 0, real, {size}, 2, data}) == Code::kInvalidArgument);
  CHECK(push({0, 0, real, {size}, UINT64_MAX, data}) == Code::kInvalidArgument);
  CHECK(push({0, 0, real, {size}, 0, std::string_view(data).substr(1)}) == Code::kInvalidArgument);
  CHECK(push({0, 0, real, {-size}, 0, data}) == Code::kInvalidArgument);
  CHECK(push({0, 0, real, {INT64_MAX, 4}, 0, data}) == Code::kInvalidArgument);
  CHECK(push({0, 0, real, std::vector<int64_t>(300, 1), 0, data}) == Code::kInvalidArgument);
  CHECK(push({0, 0, static_cast<int>(DType::kString), {size}, 0, data}) == Code::kInvalidArgument);
  CHECK(push({0, 0, 12345, {size}, 0, data}) == Code::kInvalidArgument);
  CHECK(push({0, 0, real, {size}, 0, data}, 1, 2) == Code::kInvalidArgument);  // there is no task 2
  CHECK(push({0, 0, real, {int64_t{1} << 40}, 0, data}) == Code::kResourceExhausted);
  CHECK(push({0, 0, real, {size}, 0, data}) == Code::kOk);
  CHECK(push({0, 0, real, {size / 2, 2}, 1, data}) == Code::kInvalidArgument);  // another shape than its first
  CHECK(push({1, 0, real, {size}, 0, data}, 5000) == Code::kOk);                // of no step that may come
  CHECK(push({0, 0, real, {size}, 1, data}) == Code::kOk);
  CHECK(line.inbox.size() == 1);
  // Many that never become whole: together they may claim no more than one.
  Code last = Code::kOk;
  for (uint32_t copy = 10; copy < 20 && last == Code::kOk; ++copy)
    last = push({copy, 0, real, {int64_t{1} << 28}, 0, data});
  CHECK(last == Code::kResourceExhausted);
  line.intake.end(1);
  CHECK(push({30, 0, real, {int64_t{1} << 28}, 0, data}) == Code::kOk);
}

TEST_CASE("a task that runs ahead in a loop waits for room") {
  Line line;
  const Tensor value = numbers(int64_t{1} << 18);  // 1 MiB, not more: one message
  std::atomic<int> put = 0;
  std::thread sender([&] {
    for (uint64_t i = 0; i < 100; ++i) {
      if (!line.put(0, value, i).ok()) break;
      ++put;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(put <= 17);  // the first is not counted
  line.stopped = true;
  sender.join();
  CHECK(put < 100);
  while (line.wire.answer()) {
  }
}

TEST_CASE("the answer to pieces of a loop comes once there is room, or their step has ended") {
  Line line;
  const Tensor value = numbers(int64_t{1} << 18);
  Waiting first, second, third;
  const auto file = [&](uint32_t copy, uint64_t iteration) {
    REQUIRE(line.intake.take({7, 1, 1, {{copy, false, value, iteration}}, {}}).ok());
  };
  for (uint64_t i = 0; i < 16; ++i) file(0, i);
  line.intake.answer(&first, 1, 1, false);  // no loop
  CHECK(first.answers == 1);
  line.intake.answer(&second, 1, 1, true);
  CHECK(second.answers == 0);
  line.intake.answer(&third, 1, 0, true);  // another sender has nothing here
  CHECK(third.answers == 1);
  line.taken(0);
  line.intake.taken();
  CHECK(second.answers == 1);
  file(0, 16);
  Waiting fourth, fifth;
  line.intake.answer(&fourth, 1, 1, true);
  line.intake.answer(&fifth, 1, 1, true);
  line.intake.let_go(&fifth);  // its sender is gone
  CHECK(fifth.answers == 1);
  CHECK(fourth.answers == 0);
  line.intake.end(1);
  CHECK(fourth.answers == 1);
  line.intake.let_go(&fourth);
  CHECK(fourth.answers == 1);
  CHECK(line.inbox.has_room(1));
}

TEST_CASE("in one process, too, a task that runs ahead waits, until it is told to stop or the step fails") {
  Inbox inbox;
  std::atomic<bool> stopped = false;
  const StopSignal stop{&stopped};
  const Tensor value = numbers(int64_t{1} << 18);
  for (uint64_t i = 0; i < 16; ++i) {
    REQUIRE(inbox.wait_for_room(1, 1, stop).ok());
    REQUIRE(inbox.file(1, 0, {value, false, i}, 1));
  }
  CHECK(inbox.wait_for_room(0, 1, stop).ok());
  std::thread taker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(inbox.take({1, 0, 0}, stop).ok());
  });
  CHECK(inbox.wait_for_room(1, 1, stop).ok());
  taker.join();
  REQUIRE(inbox.file(1, 0, {value, false, 16}, 1));
  stopped = true;
  CHECK(inbox.wait_for_room(1, 1, stop).code() == Code::kCancelled);
  stopped = false;
  inbox.abort(1);
  CHECK(inbox.wait_for_room(1, 1, stop).code() == Code::kCancelled);
}
