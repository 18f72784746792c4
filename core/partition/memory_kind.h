/// In which memory of its device a kernel wants an input or leaves an output (memory_types.cc).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/graph_file.h"

namespace emplace {

enum class MemoryKind : uint8_t { kDevice, kHost };

/// Looks up once per node type and device type. On a CPU everything is in host memory. Not thread-safe.
class MemoryKinds {
 public:
  explicit MemoryKinds(const GraphFile& file);

  MemoryKind input(NodeId node, size_t i, std::string_view device_type);
  MemoryKind output(NodeId node, size_t i, std::string_view device_type);

 private:
  struct Kinds {
    std::vector<MemoryKind> inputs, outputs;
    bool known = false;
  };
  size_t device_type_index(std::string_view device_type);
  /// Until the next call.
  const Kinds& of(NodeId node, std::string_view device_type);
  Kinds compute(const NodeType& type, std::string_view device_type);

  const GraphFile& file_;
  std::vector<std::string_view> device_types_;
  std::vector<std::vector<Kinds>> found_;  // by device type, then by node type
};

}  // namespace emplace
