/// What TensorFlow says about an op (OpDef, op_def.proto) and about its kernels (KernelDef, kernel_def.proto):
/// enough to validate and to place a node, whether or not emplace can run it.
///
/// The tables of TensorFlow 2.21 (and of 1.15 for names that are gone) are part of the binary as text; an op's
/// lines are found by binary search and parsed when a graph first names the op.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/op/attr_value.h"

namespace emplace {

/// An input or output argument. Exactly one of type, type_attr and type_list_attr says the element type(s);
/// number_attr makes it a sequence of that many tensors.
struct ArgSignature {
  std::string name;
  DType type = DType::kInvalid;
  int type_attr = -1;  // index into OpSignature::attrs, -1: none
  int number_attr = -1;
  int type_list_attr = -1;
  bool is_ref = false;
};

struct AttrSignature {
  std::string name;
  AttrType type;
  std::optional<AttrValue> default_value;
  std::optional<AttrValue> allowed_values;  // a list
  std::optional<int64_t> minimum;           // of an int, or of a list's length
};

struct OpSignature {
  std::string name;
  std::vector<ArgSignature> inputs, outputs;
  std::vector<AttrSignature> attrs;
  bool is_stateful = false;
  bool is_aggregate = false;
  bool is_commutative = false;
  bool allows_uninitialized_input = false;
  bool is_distributed_communication = false;
  int deprecated_since = 0;  // GraphDef producer version; 0: not deprecated
  std::string deprecation;   // what to use instead, as TensorFlow says it

  /// Index in attrs, or -1.
  int find_attr(std::string_view attr_name) const;
};

struct KernelConstraint {
  std::string attr;
  AttrValue allowed_values;  // a list
};

/// One registered kernel.
struct KernelSignature {
  std::string device_type;  // "CPU", "GPU", "DEFAULT"
  std::string label;
  int priority = 0;
  std::vector<KernelConstraint> constraints;
  std::vector<std::string> host_memory_args;
};

/// Does the kernel accept these (filled in) attrs? Its device type, label and priority are the caller's business
/// (tensorflow-placement rules: label attr `_kernel`, DEFAULT kernels, priorities). InvalidArgument if a constrained
/// attr is missing or of another kind.
Result<bool> kernel_matches(const KernelSignature& kernel, const Attrs& attrs);

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
