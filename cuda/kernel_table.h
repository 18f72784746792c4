/// KernelTable: the kernels that the plug-in has for a GPU, by op and element type (that of the op's kernel attr:
/// core/op/op_def.h). Filled by the families in cuda/ops, each listed in families.inc.
///
/// A GPU kernel is a Kernel (core/op/kernel.h) like the CPU's:
/// - prepare() chooses code from the shapes, on the host;
/// - run() enqueues on stream_of(c) and returns. c.in<T>(i) and c.out<T>(i) are device addresses, to be handed to
///   kernels, never read here. Arguments that TensorFlow keeps in host memory (shapes, axes: "host" in
///   core/op/tables/kernels.txt) are host addresses, and their values are there: run() may read them, but a launch
///   must not depend on it after run() has returned;
/// - c.allocate_scratch() is device memory; it may be given up as soon as the launch that uses it is enqueued, since
///   whoever gets it next is enqueued later;
/// - c.allocate_persistent() is device memory for what a kernel keeps from prepare() on (tables);
/// - outputs that share an input's buffer, and forward_output(), work as on the CPU.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/op/kernel.h"

namespace emplace::cuda {

/// What tensors of so many bytes take of scratch together: each begins at a multiple of 256.
template <class... N>
constexpr int64_t scratch_bytes(N... bytes) {
  return (((static_cast<int64_t>(bytes) + 255) / 256 * 256) + ... + 0);
}

inline cudaStream_t stream_of(const KernelContext& c) { return static_cast<cudaStream_t>(c.stream_); }

class KernelTable {
 public:
  struct Entry {
    DTypeSet types;
    KernelMaker maker = nullptr;  // null: the CPU's
    bool waits = false;
    bool gives_way = false;
  };

  void add(std::string_view op, DTypeSet types, KernelMaker maker) { entries_[op].push_back({types, maker}); }
  /// Its workspace is a library's: without memory for that, run() takes code of its own.
  void add_giving_way(std::string_view op, DTypeSet types, KernelMaker maker) {
    entries_[op].push_back({types, maker, false, true});
  }
  /// run() waits for the stream (a size that only the device finds): never part of a recorded step.
  void add_waiting(std::string_view op, DTypeSet types, KernelMaker maker) {
    entries_[op].push_back({types, maker, true});
  }
  /// The CPU's kernel serves: it hands on buffers and handles and looks at no element in device memory.
  void add_host_code(std::string_view op, DTypeSet types) { entries_[op].push_back({types}); }

  /// Null: no kernel. Ops without a type attr are looked up as kInvalid, which every set of kAnyType has.
  const Entry* find(std::string_view op, DType type) const {
    auto found = entries_.find(op);
    if (found == entries_.end()) return nullptr;
    for (const Entry& e : found->second) {
      if (e.types.has(base_type(type))) return &e;
    }
    return nullptr;
  }
  const std::map<std::string_view, std::vector<Entry>>& entries() const { return entries_; }

 private:
  std::map<std::string_view, std::vector<Entry>> entries_;
};

inline constexpr DTypeSet kAnyType = DTypeSet::from_bits(~uint64_t{0});

/// Every kernel of the plug-in.
const KernelTable& kernel_table();

}  // namespace emplace::cuda
