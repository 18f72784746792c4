// Shrink: the nodes that a failure needs, how many tries that takes.
#include "core/report/reduce/shrink.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace emplace;

namespace {

Shrink::Nodes kept_of(size_t nodes, const std::vector<size_t>& which) {
  Shrink::Nodes kept(nodes, 0);
  for (const size_t i : which) kept[i] = 1;
  return kept;
}

/// Fails while all of these are there.
Shrink::Test needs(const std::vector<size_t>& culprits) {
  return [culprits](const std::vector<Shrink::Nodes>& candidates) -> Result<std::vector<char>> {
    std::vector<char> failed;
    for (const Shrink::Nodes& kept : candidates)
      failed.push_back(std::all_of(culprits.begin(), culprits.end(), [&](size_t i) { return kept[i] != 0; }));
    return failed;
  };
}

const Shrink::Close kNothing = [](Shrink::Nodes&) {};

}  // namespace

TEST_CASE("one culprit among a thousand nodes is found in few tries", "[shrink]") {
  for (const size_t culprit : {size_t{0}, size_t{1}, size_t{499}, size_t{998}, size_t{999}}) {
    Shrink shrink(needs({culprit}), kNothing);
    const Result<Shrink::Nodes> found = shrink.smallest(Shrink::Nodes(1000, 1));
    REQUIRE(found.ok());
    CHECK(*found == kept_of(1000, {culprit}));
    CHECK(shrink.counts().tries <= 20);
  }
}

TEST_CASE("culprits that need each other stay, and nothing else", "[shrink]") {
  Shrink shrink(needs({7, 300, 800}), kNothing);
  const Result<Shrink::Nodes> found = shrink.smallest(Shrink::Nodes(1000, 1));
  REQUIRE(found.ok());
  CHECK(*found == kept_of(1000, {7, 300, 800}));
  CHECK(shrink.counts().tries <= 200);
}

TEST_CASE("what kept nodes cannot do without stays with them", "[shrink]") {
  const auto close = [](Shrink::Nodes& kept) { kept[2] = static_cast<char>(kept[2] | kept[5]); };
  Shrink shrink(needs({5}), close);
  const Result<Shrink::Nodes> found = shrink.smallest(Shrink::Nodes(8, 1));
  REQUIRE(found.ok());
  CHECK(*found == kept_of(8, {2, 5}));
}

TEST_CASE("an error of a try ends the search", "[shrink]") {
  Shrink shrink(
      [](const std::vector<Shrink::Nodes>&) { return Result<std::vector<char>>(unavailable("no more processes")); },
      kNothing);
  CHECK(shrink.smallest(Shrink::Nodes(4, 1)).status().message() == "no more processes");
}

TEST_CASE("several candidates at once lead to the same nodes", "[shrink]") {
  for (const size_t at_once : {size_t{2}, size_t{3}, size_t{8}}) {
    Shrink shrink(needs({7, 300, 800}), kNothing, at_once);
    const Result<Shrink::Nodes> found = shrink.smallest(Shrink::Nodes(1000, 1));
    REQUIRE(found.ok());
    CHECK(*found == kept_of(1000, {7, 300, 800}));
  }
}
