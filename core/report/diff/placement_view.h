/// PlacementView: a placement as plain data, whether it was made just now or read from a document: what
/// `emplace diff` compares. Devices and nodes go by name, so that views of different graphs and machines can meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/partition/copies.h"
#include "core/place/placement.h"

namespace emplace {

struct NodeView {
  std::string name, op, device;         // the device in full
  std::string requested;                // as written; empty: nothing
  std::string reason;                   // its code; empty: the document does not say
  std::string because;                  // the node that decided; empty: none, or the document does not say
  std::vector<std::string> inputs;      // as in a GraphDef; controls sorted
  std::optional<std::string> contents;  // attributes and output shapes; nothing: the document does not say
  uint32_t group = 0;                   // nodes of one number are on one device by constraint; 0: it does not say
};

struct CopyView {
  std::string tensor, from, to;
  std::optional<int64_t> bytes;
  auto operator<=>(const CopyView&) const = default;
};

struct PlacementView {
  std::string title;            // as on the command line
  std::vector<NodeView> nodes;  // in assignment order
  bool has_inputs = true;       // false: a saved placement, which has names, ops and devices only
  std::optional<std::vector<CopyView>> copies;
  std::vector<std::string> devices;                                   // in full
  std::vector<std::pair<std::string, std::optional<int64_t>>> peaks;  // of devices whose memory was planned
};

/// Of a graph that was placed. `peaks` stay empty.
PlacementView view_placement(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                             const Placement& placement, const CopyPlan& copies);

/// Is this text a placement's document: of `place --format json`, or of --placement-out?
bool is_placement_document(std::string_view text);

/// Of such a document. InvalidArgument: it cannot be read; `origin` stands before each message.
Result<PlacementView> read_placement_view(std::string_view text, std::string_view origin);

}  // namespace emplace
