/// Making what is left of a failing graph simple: its attrs, sizes and values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// How a candidate is simpler than the graph, beside its fewer nodes.
struct Simpler {
  bool no_controls = false, no_colocation = false, no_devices = false;
  std::set<std::pair<NodeId, std::string>> no_attrs;
  std::map<int64_t, int64_t> sizes;    // of dimensions: from, to
  std::map<int64_t, int64_t> numbers;  // likewise, of the elements of short lists of integers, which may be sizes
  std::optional<int> all_values;       // 0 or 1
  std::map<std::pair<NodeId, uint32_t>, int> values;  // of constants and of what is fed, by tensor: 0 or 1

  /// What the value of a tensor becomes: the part of it that starts at its first element where sizes are smaller.
  Tensor value_of(const Endpoint& tensor, const Tensor& value) const;
  /// Different for all that differ in what a graph's text may not tell: values.
  std::string values_key() const;
};

/// What could be simpler.
struct Complexity {
  std::vector<std::pair<NodeId, std::string>> attrs;  // that may be left out
  std::set<int64_t> sizes;                            // of dimensions of constants, variables and of what is fed
  std::vector<Endpoint> values;                       // constants, what is fed
};

/// One graph.
class Simplify {
 public:
  /// Is the failure there? An error ends the search with it.
  using Test = std::function<Result<bool>(const Simpler& candidate)>;

  /// At most `most_tries` calls of `test`, after which the rest stays as it is.
  Simplify(Test test, Complexity parts, int64_t most_tries)
      : test_(std::move(test)), parts_(std::move(parts)), tries_left_(most_tries) {}

  /// REQUIRES: the failure is there with an empty one. Deterministic.
  Result<Simpler> simplest();

 private:
  /// Keeps the candidate if the failure is there.
  Result<bool> fails(Simpler candidate);
  Status drop_attrs();
  Result<bool> fails_with_sizes(const std::map<int64_t, int64_t>& sizes);
  Status make_smaller();
  Status make_smaller(int64_t size);
  Status set_values();

  const Test test_;
  const Complexity parts_;
  int64_t tries_left_;
  Simpler simplest_;
};

}  // namespace emplace
