#include "core/plan/live_list.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace emplace;

namespace {

using Lines = std::vector<std::pair<std::string, int64_t>>;

int64_t sum(const Lines& lines) {
  return std::accumulate(lines.begin(), lines.end(), int64_t{0}, [](int64_t s, const auto& l) { return s + l.second; });
}

}  // namespace

TEST_CASE("who holds memory is listed largest first, with what is missing of a total") {
  LiveList live;
  live.add("a", 10);
  live.add("nothing", 0);
  live.add("b", 30);
  live.add_rest("gaps", 100);
  live.add("c", 30);
  live.add_rest("not missing", 30);
  live.add_rest("kernels", 5);
  CHECK(live.take() == Lines{{"(gaps)", 60}, {"b", 30}, {"c", 30}, {"a", 10}, {"(kernels)", 5}});
}

TEST_CASE("the list adds up also where it is too long to be shown") {
  LiveList live;
  for (int64_t i = 1; i <= 100; ++i) live.add("t", (i * 37) % 101);
  live.add_rest("gaps", 6000);
  const Lines lines = live.take();
  CHECK(lines.size() == 21);
  CHECK(lines.back() ==
        std::pair<std::string, int64_t>{"(81 more)", 6000 - sum(Lines(lines.begin(), lines.end() - 1))});
  CHECK(lines[0] == std::pair<std::string, int64_t>{"(gaps)", 950});
  CHECK(sum(lines) == 6000);
}
