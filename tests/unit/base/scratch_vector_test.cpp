#include "core/base/scratch_vector.h"

#include <catch2/catch.hpp>

#include <numeric>
#include <thread>
#include <vector>

#include "core/base/host_memory.h"
#include "tests/unit/run/allocation_count.h"

using namespace emplace;
using emplace::testing::allocation_count;

TEST_CASE("what a scratch vector gave back is the next one's, of any type and nearly any size") {
  { ScratchVector<int32_t> first(1000), second(1000); }
  const int64_t before = allocation_count();
  for (int i = 0; i < 5; ++i) {
    ScratchVector<double> doubles(400);
    ScratchVector<char> chars(2100 + static_cast<size_t>(i));
    CHECK(doubles[399] == 0);
  }
  CHECK(allocation_count() == before);
}

TEST_CASE("scratch vectors count as the host's memory, and what a thread keeps of them is bounded") {
  const HostMemory& memory = HostMemory::of_process();
  std::thread([&] {
    const int64_t before = memory.in_use();
    {
      std::vector<ScratchVector<char>> many(100, ScratchVector<char>(size_t{1} << 20));
      CHECK(memory.in_use() - before >= int64_t{100} << 20);
    }
    CHECK(memory.in_use() - before <= int64_t{17} << 20);
    ScratchVector<char> again(size_t{1} << 20);
    CHECK(memory.in_use() - before <= int64_t{17} << 20);
  }).join();
}

TEST_CASE("scratch vectors of any size keep their elements as they grow, and may end on another thread") {
  for (size_t n :
       {size_t{0}, size_t{1}, size_t{8}, size_t{9}, size_t{1} << 17, (size_t{1} << 17) + 1, size_t{1} << 20}) {
    ScratchVector<int64_t> numbers;
    for (size_t i = 0; i < n; ++i) numbers.push_back(static_cast<int64_t>(i));
    int64_t sum = 0;
    std::thread([taken = std::move(numbers), &sum] {
      sum = std::accumulate(taken.begin(), taken.end(), int64_t{0});
    }).join();
    CHECK(sum == static_cast<int64_t>(n) * (static_cast<int64_t>(n) - 1) / 2);
  }
}
