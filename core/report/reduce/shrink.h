/// Making a failing graph small: which of its nodes have to stay for the failure to stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/status.h"

namespace emplace {

struct ShrinkCounts {
  int64_t tries = 0;   // that were asked for
  int64_t cached = 0;  // of these, answered before
};

/// One graph. Nodes are numbered so that what a node reads has a smaller number.
class Shrink {
 public:
  using Nodes = std::vector<char>;  // by node: kept
  /// Of each, is the failure there? An error ends the search with it.
  using Test = std::function<Result<std::vector<char>>(const std::vector<Nodes>& kept)>;
  /// Adds what kept nodes cannot do without.
  using Close = std::function<void(Nodes& kept)>;

  /// `at_once`: how many candidates the test gets at most. Whatever it is, the result is the same.
  Shrink(Test test, Close close, size_t at_once = 1)
      : test_(std::move(test)), close_(std::move(close)), at_once_(at_once) {}

  /// The smallest set that was found; of it, no node can be left out by itself. REQUIRES: the failure is there with
  /// `all`. Deterministic.
  Result<Nodes> smallest(const Nodes& all);
  const ShrinkCounts& counts() const { return counts_; }

 private:
  /// The first of the candidates that fails becomes the one to go on with; ~0: none does.
  Result<size_t> first_that_fails(std::vector<Nodes> candidates);
  Result<bool> fails(Nodes kept);
  Result<bool> remove_pieces_of(size_t size);
  Status find_prefix();
  Status try_alone();
  Status remove_pieces();

  const Test test_;
  const Close close_;
  const size_t at_once_;
  ShrinkCounts counts_;
  Nodes kept_;
  std::vector<std::pair<Nodes, bool>> known_;  // few hundred
};

}  // namespace emplace
