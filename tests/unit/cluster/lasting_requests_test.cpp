// Requests that outlive the connection that they came by.
#include "core/cluster/lasting_requests.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <thread>

using namespace emplace;

namespace {

constexpr double kSoon_s = 0.1;

/// A request as it comes from a connection.
class Brought final : public IncomingRequest {
 public:
  Brought(uint64_t number, std::string text, uint64_t answered_below = 0, const char* method = "/do")
      : method_(method), id_{7, number, answered_below}, body_(std::move(text)) {}
  std::string_view method() const override { return method_; }
  std::string& body() override { return body_; }
  RequestId id() const override { return id_; }
  bool stay() override { return may_stay; }
  void answer(Answer answer) override {
    std::lock_guard lock(mutex_);
    answers_.push_back(answer.shared ? *answer.shared : answer.message);
  }
  std::vector<std::string> answers() {
    std::lock_guard lock(mutex_);
    return answers_;
  }

  bool may_stay = false;

 private:
  const std::string method_;
  const RequestId id_;
  std::string body_;
  std::mutex mutex_;
  std::vector<std::string> answers_;  // guarded by mutex_
};

/// Asks whether it may stay, and answers with that.
class Staying final : public RequestHandler {
 public:
  void handle(IncomingRequest* request) override { request->answer({0, {}, request->stay() ? "stayed" : "left"}); }
  void called_off(IncomingRequest* /*request*/) override {}
};

/// Keeps what it is asked until the test answers.
class Handler final : public RequestHandler {
 public:
  void handle(IncomingRequest* request) override { open.push_back(request); }
  void called_off(IncomingRequest* request) override { off.push_back(request); }

  std::deque<IncomingRequest*> open, off;
};

bool wait_until(const std::function<bool()>& what) {
  for (int i = 0; i < 200 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return what();
}

Answer text(std::string body) { return {0, {}, std::move(body)}; }

}  // namespace

TEST_CASE("whether a handler may stay on its thread is for the transport to say") {
  Staying handler;
  LastingRequests lasting(handler, 60);
  Brought busy(1, "x"), free(2, "y");
  free.may_stay = true;
  lasting.handle(&busy);
  lasting.handle(&free);
  CHECK(busy.answers() == std::vector<std::string>{"left"});
  CHECK(free.answers() == std::vector<std::string>{"stayed"});
}

TEST_CASE("a request that is sent again is done once, and answered where it came last") {
  Handler handler;
  LastingRequests lasting(handler, 60);
  Brought first(1, "x"), second(1, "x"), third(1, "x"), other(2, "y");
  lasting.handle(&first);
  REQUIRE(handler.open.size() == 1);
  IncomingRequest* const asked = handler.open.front();
  CHECK(asked->body() == "x");
  CHECK(asked->is_awaited());
  lasting.called_off(&first);
  CHECK_FALSE(asked->is_awaited());
  CHECK(wait_until([&] { return first.answers() == std::vector<std::string>{"its connection was lost"}; }));
  lasting.handle(&second);
  CHECK(asked->is_awaited());
  lasting.handle(&third);  // before the loss of the second was seen
  CHECK(wait_until([&] { return second.answers().size() == 1; }));
  lasting.handle(&other);
  CHECK(handler.open.size() == 2);
  asked->answer(text("done"));
  CHECK(third.answers() == std::vector<std::string>{"done"});
  CHECK(second.answers().size() == 1);
  CHECK(handler.off.empty());
  handler.open.back()->answer(text("too"));
}

TEST_CASE("an answer is kept until its sender says that it has it") {
  Handler handler;
  LastingRequests lasting(handler, 60);
  Brought first(1, "x"), again(1, "x"), next(2, "y", 2), late(1, "x", 2);
  lasting.handle(&first);
  handler.open.front()->answer(text("done"));
  lasting.called_off(&first);
  lasting.handle(&again);
  CHECK(again.answers() == std::vector<std::string>{"done"});
  CHECK(lasting.size() == 1);
  lasting.handle(&next);
  CHECK(lasting.size() == 1);  // the next one
  lasting.handle(&late);
  CHECK(late.answers() == std::vector<std::string>{"its sender has the answer"});
  CHECK(handler.open.size() == 2);
  handler.open.back()->answer(text("done"));
}

TEST_CASE("of requests that are only to be done their numbers are kept") {
  Handler handler;
  LastingRequests lasting(handler, 60);
  Brought oldest(1, "x");
  lasting.handle(&oldest);
  for (uint64_t number = 2; number < 100; ++number) {
    Brought push(number, "y", 1);
    lasting.handle(&push);
    handler.open.back()->answer({});
    CHECK(push.answers() == std::vector<std::string>{""});
  }
  CHECK(lasting.size() == 1);
  Brought again(50, "y", 1), late(50, "y", 90);
  lasting.handle(&again);
  CHECK(again.answers() == std::vector<std::string>{""});
  CHECK(handler.open.size() == 99);
  lasting.handle(&late);
  CHECK(late.answers() == std::vector<std::string>{"its sender has the answer"});
  handler.open.front()->answer(text("done"));
}

TEST_CASE("numbers that follow each other are one range") {
  NumberRanges numbers;
  for (uint64_t number : {5, 3, 4, 9, 8, 5}) numbers.add(number);
  CHECK(numbers.num_ranges() == 2);
  for (uint64_t number : {3, 4, 5, 8, 9}) CHECK(numbers.contains(number));
  for (uint64_t number : {2, 6, 7, 10}) CHECK_FALSE(numbers.contains(number));
  numbers.erase_below(5);
  CHECK(numbers.contains(5));
  CHECK_FALSE(numbers.contains(4));
  for (uint64_t number : {6, 7}) numbers.add(number);
  CHECK(numbers.num_ranges() == 1);
  numbers.erase_below(20);
  CHECK(numbers.num_ranges() == 0);
}

TEST_CASE("a request whose sender does not come back is called off after a while, or at once if it says so") {
  Handler handler;
  LastingRequests lasting(handler, kSoon_s);
  Brought gone(1, "x"), ended(2, "y"), back(3, "z"), back_again(3, "z"), end(0, "2", 0, kCallOffMethod);
  for (Brought* one : {&gone, &ended, &back}) lasting.handle(one);
  lasting.handle(&end);
  CHECK(end.answers() == std::vector<std::string>{""});
  CHECK(handler.off == std::deque<IncomingRequest*>{handler.open[1]});
  const auto start = std::chrono::steady_clock::now();
  lasting.called_off(&gone);
  lasting.called_off(&back);
  lasting.handle(&back_again);
  CHECK(wait_until([&] { return handler.off.size() == 2; }));
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::duration<double>(kSoon_s));
  CHECK(handler.off.back() == handler.open[0]);
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * kSoon_s));
  CHECK(handler.off.size() == 2);
  for (IncomingRequest* request : handler.open) request->answer(text("done"));
  CHECK(back_again.answers() == std::vector<std::string>{"done"});
}

TEST_CASE("at the end, what nobody waits for is called off") {
  Handler handler;
  LastingRequests lasting(handler, 60);
  Brought gone(1, "x");
  lasting.handle(&gone);
  lasting.called_off(&gone);
  lasting.close();
  REQUIRE(handler.off.size() == 1);
  CHECK(gone.answers().size() == 1);
  handler.off.front()->answer(text("done"));
}
