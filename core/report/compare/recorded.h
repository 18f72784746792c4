/// Tensors of a run, kept or looked up as it goes on.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/report/compare/node_difference.h"
#include "core/run/observer.h"

namespace emplace {

/// A run against arrays of another program, by name: "node", or "node:1".
class AgainstArrays final : public RunObserver {
 public:
  /// All must outlive it.
  AgainstArrays(const Graph& graph, const std::vector<std::pair<std::string, Tensor>>& arrays,
                const Tolerance& tolerance, bool to_the_end);
  Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override;

  NodeDifferences& found() { return found_; }
  /// Arrays that no node made.
  std::vector<std::string> left_over() const;

 private:
  struct Array {
    const Tensor* value = nullptr;
    bool met = false;
  };
  const Graph& graph_;
  const Tolerance tolerance_;
  const bool to_the_end_;
  std::map<std::string, Array, std::less<>> arrays_;  // by full name
  NodeDifferences found_;
};

/// Copies of the values that some tensors last had, in host memory.
class TensorCapture final : public RunObserver {
 public:
  TensorCapture(const Graph& graph, std::vector<Endpoint> wanted);
  Status finished(const ObservedInstruction& what, std::span<const Tensor> outputs) override;
  /// In the order asked for; invalid: the run did not make it.
  const std::vector<Tensor>& values() const { return values_; }

 private:
  std::vector<Endpoint> wanted_;
  std::vector<Tensor> values_;
  std::vector<char> makes_some_;  // by node
};

/// The same elements in memory of their own; an invalid tensor stays one.
Result<Tensor> deep_copy(const Tensor& tensor);

}  // namespace emplace
