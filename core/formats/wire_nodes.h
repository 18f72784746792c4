/// WireNodes: NodeDef messages in protobuf's binary form, as nodes of a graph.
#pragma once

#include <string_view>
#include <vector>

#include "core/formats/graph_builder.h"
#include "core/formats/wire_attrs.h"
#include "core/formats/wire_context.h"

namespace emplace {

class WireNodes {
 public:
  /// `keeps_tables`: see op_of_kept_table().
  WireNodes(WireContext& w, GraphBuilder& builder, bool keeps_tables)
      : w_(w), builder_(builder), attrs_(w, builder.graph()), keeps_tables_(keeps_tables) {}

  void read(std::string_view node);

 private:
  struct Parts {
    std::string_view name, op, device;
    const char *first_attr = nullptr, *end_attrs = nullptr;
    bool attrs_together = true;
  };
  void read_input(std::string_view input, const char* at);
  void add(const Parts& parts, std::string_view node);

  WireContext& w_;
  GraphBuilder& builder_;
  WireAttrs attrs_;
  const bool keeps_tables_;
  std::vector<std::string_view> entries_;  // attrs of the node being read
  // The last op and device, which the next node often shares.
  std::string_view last_op_, last_device_;
  uint32_t last_op_id_ = 0, last_device_id_ = 0;
};

}  // namespace emplace
