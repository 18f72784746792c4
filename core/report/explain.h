/// What `emplace explain` prints: why nodes are where they are, and what would move them.
#pragma once

#include <string>
#include <vector>

#include "core/graph/lower/origins.h"
#include "core/partition/copies.h"
#include "core/place/changes.h"
#include "core/place/placement.h"
#include "core/plan/undone_transposes.h"
#include "core/report/auto_report.h"

namespace emplace {

struct ExplainRequest {
  std::vector<std::string> nodes = {};  // empty: a summary of all nodes by reason
  std::string on_device = {};           // --on: "GPU:0", "/cpu:0", ...; empty: any other device
  bool json = false;
  const AutoReport* automatic = nullptr;  // of --auto; null: TensorFlow's rule
  PlaceByCost by_cost = {};               // likewise, to try changes; empty: TensorFlow's rule
  const Origins* origins = nullptr;       // of nodes that are not the file's own; null: all are
  std::vector<LeftOut> left_out = {};     // of the run, as far as it is foreseen
};

/// The text or the JSON document. NotFound for a node that the graph lacks, InvalidArgument for a malformed
/// --on device. Every change it proposes has been tried by placing the graph again.
Result<std::string> explain(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                            const Placement& placement, const CopyPlan& copies, const ExplainRequest& request);

}  // namespace emplace
