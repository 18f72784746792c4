/// Making a failing graph small: which of its nodes have to stay for the failure to stay.
#pragma once

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
  /// Is the failure there? An error ends the search with it.
  using Test = std::function<Result<bool>(const Nodes& kept)>;
  /// Adds what kept nodes cannot do without.
  using Close = std::function<void(Nodes& kept)>;

  Shrink(Test test, Close close) : test_(std::move(test)), close_(std::move(close)) {}

  /// The smallest set that was found; of it, no node can be left out by itself. REQUIRES: the failure is there with
  /// `all`. Deterministic.
  Result<Nodes> smallest(const Nodes& all);
  const ShrinkCounts& counts() const { return counts_; }

 private:
  Result<bool> fails(Nodes kept);
  Status find_prefix();
  Status try_alone();
  Status remove_pieces();

  const Test test_;
  const Close close_;
  ShrinkCounts counts_;
  Nodes kept_;
  std::vector<std::pair<Nodes, bool>> known_;  // few hundred
};

}  // namespace emplace
