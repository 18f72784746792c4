#include "core/train/sample_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

namespace emplace {
namespace {

std::vector<std::vector<int64_t>> batches(SampleOrder order, int count) {
  std::vector<std::vector<int64_t>> out;
  DataPosition position;
  for (int i = 0; i < count; ++i) out.push_back(order.take(position));
  return out;
}

}  // namespace

TEST_CASE("without shuffling an epoch is the file's order, the last batch is smaller") {
  SampleOrder order(5, 2, false, false, 1);
  CHECK(order.batches_per_epoch() == 3);
  CHECK(batches(order, 4) == std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}, {4}, {0, 1}});
}

TEST_CASE("drop_remainder leaves the last, smaller batch out") {
  SampleOrder order(5, 2, false, true, 1);
  CHECK(order.batches_per_epoch() == 2);
  CHECK(batches(order, 3) == std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}, {0, 1}});
}

TEST_CASE("batch 0, or one larger than the data, takes all rows") {
  CHECK(batches(SampleOrder(3, 0, false, false, 1), 2) == std::vector<std::vector<int64_t>>{{0, 1, 2}, {0, 1, 2}});
  CHECK(batches(SampleOrder(3, 10, false, false, 1), 1) == std::vector<std::vector<int64_t>>{{0, 1, 2}});
}

TEST_CASE("every epoch is another permutation, the same for a seed") {
  std::vector<int64_t> first = permutation(7, 0, 1000), second = permutation(7, 1, 1000);
  CHECK(first == permutation(7, 0, 1000));
  CHECK(first != second);
  CHECK(first != permutation(8, 0, 1000));
  for (std::vector<int64_t> order : {first, second}) {
    std::sort(order.begin(), order.end());
    std::vector<int64_t> all(1000);
    std::iota(all.begin(), all.end(), 0);
    CHECK(order == all);
  }
}

TEST_CASE("the permutation is pinned: it must not change from machine to machine or from release to release") {
  // Computed by an independent implementation of Philox4x32-10 and of the shuffle, written from the paper in Python.
  CHECK(permutation(1, 0, 10) == std::vector<int64_t>{7, 2, 0, 4, 6, 1, 3, 9, 5, 8});
  CHECK(permutation(123456789, 3, 7) == std::vector<int64_t>{3, 0, 5, 6, 2, 1, 4});
}

TEST_CASE("a position in the middle of an epoch goes on as if never left") {
  SampleOrder whole(100, 7, true, false, 3), resumed(100, 7, true, false, 3);
  DataPosition position;
  for (int i = 0; i < 20; ++i) static_cast<void>(whole.take(position));
  DataPosition copy = position;
  for (int i = 0; i < 20; ++i) CHECK(whole.take(position) == resumed.take(copy));
}

}  // namespace emplace
