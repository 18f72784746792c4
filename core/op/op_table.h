/// OpTable: the signatures and kernels of every op of TensorFlow, by name.
///
/// The tables of TensorFlow 2.21 (and of 1.15 for names that are gone) are part of the binary as text; an op's
/// lines are found by binary search and parsed when a graph first names the op.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/op/signature.h"

namespace emplace {

/// The ops that a graph may name: the built-in tables, then what a graph file declares. Not thread-safe.
class OpTable {
 public:
  OpTable();
  ~OpTable();
  OpTable(const OpTable&) = delete;
  OpTable& operator=(const OpTable&) = delete;

  /// Null if no table knows the op. The pointer stays valid.
  const OpSignature* find(std::string_view op);
  /// Kernels in the order in which TensorFlow lists them; empty for an op without kernels. Stays valid.
  const std::vector<KernelSignature>& kernels(std::string_view op);

  /// `op_def` of a graph file. AlreadyExists if the built-in tables or an earlier call has it with another signature.
  Status declare(OpSignature op);
  /// `kernel_def` of a graph file: the first for an op replaces all built-in kernels of that op, the next add to it.
  void declare_kernel(std::string_view op, KernelSignature kernel);

  /// Every op name of the built-in tables, sorted. Costs a walk over the table: for listings and suggestions.
  std::vector<std::string_view> names() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
