// A session is kept by somebody's request; where nobody comes, that is known in time.
#include "core/cluster/session_holds.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace emplace;
using namespace std::chrono_literals;

namespace {

class Request final : public IncomingRequest {
 public:
  std::string_view method() const override { return {}; }
  std::string& body() override { return body_; }
  void answer(Answer) override {}

 private:
  std::string body_;
};

}  // namespace

TEST_CASE("a session that nobody comes to keep is told apart from one that was kept and let go") {
  SessionHolds holds;
  Request request, other;
  const SessionHolds::Held client{1, true}, part{1, false};
  holds.await(client), holds.await(part);
  holds.add(&request, client);
  REQUIRE(holds.remove(&request));
  CHECK(!holds.remove(&request));
  CHECK(holds.wait_for(client, 1ms));  // it had come, however soon it went
  CHECK(!holds.wait_for(part, 1ms));
  holds.await(part);
  std::thread late([&] {
    std::this_thread::sleep_for(10ms);
    holds.add(&other, part);
  });
  CHECK(holds.wait_for(part, 10s));
  late.join();
  holds.await(client);
  std::thread waits([&] { CHECK(holds.wait_for(client, 10s)); });
  CHECK(holds.close() == std::vector<IncomingRequest*>{&other});
  waits.join();
}
