#include "core/run/stop_signal.h"

#include <catch2/catch.hpp>
#include <thread>

using namespace emplace;

TEST_CASE("an interruption that arrives while the signal is asked is never taken for a timeout") {
  std::atomic<bool> interrupted{false}, done{false};
  StopSignal stop;
  stop.flag = &interrupted;
  std::thread user([&] {
    while (!done) interrupted = !interrupted;
  });
  int timeouts = 0;
  for (int i = 0; i < 5000000; ++i) timeouts += stop.status().code() == Code::kDeadlineExceeded;
  done = true;
  user.join();
  CHECK(timeouts == 0);
}

TEST_CASE("a step is late once its time is over, and its message says how much it had") {
  StopSignal stop;
  stop.timeout_s = 1e-9;
  CHECK(stop.status().ok());
  stop.start();
  while (!stop.asked()) {
  }
  CHECK(stop.status().code() == Code::kDeadlineExceeded);
}
