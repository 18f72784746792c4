#include "core/base/kept_by_thread.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <thread>

using namespace emplace;

namespace {

std::atomic<int> alive = 0;
std::string ended;  // of one thread

struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) = delete;
  ~Counted() { --alive; }
  int uses = 0;
};

struct First {
  ~First() { ended += "first "; }
};
struct Second {
  ~Second();
};

constinit thread_local KeptByThread<Counted> kept;
constinit thread_local KeptByThread<First> first;
constinit thread_local KeptByThread<Second> second;

Second::~Second() {
  ended += "second ";
  first.get();  // as a thread's end may still use what has ended
}

}  // namespace

TEST_CASE("what a thread keeps is made at its first use and ends with the thread") {
  const int before = alive;
  std::thread([&] {
    CHECK(alive == before);
    ++kept.get().uses;
    std::thread([&] {
      CHECK(kept.get().uses == 0);
      CHECK(alive == before + 2);
    }).join();
    CHECK(alive == before + 1);
    CHECK(++kept.get().uses == 2);
  }).join();
  CHECK(alive == before);
}

TEST_CASE("what a thread keeps ends from the last made to the first, and what is made anew meanwhile ends, too") {
  std::thread([] {
    second.get();
    first.get();
  }).join();
  CHECK(ended == "first second first ");
}
