/// Which kernels TensorFlow's registry has for a node: the rules of op_kernel.cc (constraints, labels, priorities,
/// DEFAULT kernels). Answers are kept per op and per values of the attrs that its kernels look at.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/op/op_table.h"
#include "core/place/device_types.h"

namespace emplace {

class KernelLookup {
 public:
  /// `available_only`: only kernels that this emplace can execute. `ops` and `lists` must outlive this.
  KernelLookup(OpTable& ops, TypeLists& lists, bool available_only)
      : ops_(ops), lists_(lists), available_only_(available_only) {}

  struct Supported {
    TypesId types = kNoTypes;
    bool attr_mismatch = false;  // some kernel was passed over because of an attr
    bool failed = false;         // the lookup itself is an error: failure() says which
  };
  /// The device types that can run such a node, by kernel priority, then type order.
  const Supported& supported(const NodeType& type);
  /// REQUIRES: supported(type).failed.
  Status failure(const NodeType& type, std::string_view node_name);

  /// All kernels of an op, for messages; with --kernels available too.
  const std::vector<KernelSignature>& registered(std::string_view op) { return ops_.kernels(op); }

 private:
  struct OpKernels {
    const std::vector<KernelSignature>* kernels;
    std::vector<std::string_view> attrs;  // that some kernel constrains
    std::unordered_map<std::string, Supported> answers;
  };
  Supported compute(const NodeType& type);
  OpKernels& kernels_of(std::string_view op);

  OpTable& ops_;
  TypeLists& lists_;
  const bool available_only_;
  std::unordered_map<std::string_view, OpKernels> by_op_;
};

/// The kernel of TensorFlow's registry for a node on a type of device; null if there is none or the lookup fails.
const KernelSignature* find_kernel(OpTable& ops, const NodeType& type, std::string_view device_type);

/// Does this emplace have a kernel for such a node? Calls, control flow, arguments and results of bodies count as if
/// they had: what runs has the bodies instead.
bool is_runnable(const NodeType& type);

}  // namespace emplace
