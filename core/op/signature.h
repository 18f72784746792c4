/// What TensorFlow says about an op (OpDef, op_def.proto) and about its kernels (KernelDef, kernel_def.proto):
/// enough to validate and to place a node, whether or not emplace can run it (core/op/op_table.h has them all).
#pragma once

#include <optional>
#include <string>
#include <string_view>
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
/// (core/place/kernel_lookup.h: label attr `_kernel`, DEFAULT kernels, priorities). InvalidArgument if a constrained
/// attr is missing or of another kind.
Result<bool> kernel_matches(const KernelSignature& kernel, const Attrs& attrs);

}  // namespace emplace
