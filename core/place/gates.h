/// Gates: --fail-on, --max-copies and --min-on make a placement pass or fail (exit code 4).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/place/placement.h"

namespace emplace {

struct Gates {
  /// "soft-placement": a node is not where its own request says, which soft placement allowed; "moved": the same,
  /// whatever the cause. Entries may hold several words with commas.
  std::vector<std::string> fail_on = {};
  int64_t max_copies = -1;               // tensors that cross devices; -1: no limit
  int64_t max_copy_bytes = -1;           // of these, where they are known
  std::vector<std::string> min_on = {};  // "GPU=95%", "GPU:0=50%", "CPU=3": a share or a number of nodes
};

/// The tensors that cross devices in a step.
struct EdgeCopies {
  int64_t count = 0;
  int64_t bytes = 0;  // as far as they are known
};

/// Can all of them be read? InvalidArgument if not. `of_command`: a word of --fail-on that the command itself judges,
/// alone or with a value behind '='; empty: it has none.
Status check_gate_values(const Gates& gates, std::string_view of_command = {});
/// The words of one entry of --fail-on.
std::vector<std::string_view> gate_words(std::string_view entry);

/// FailedPrecondition with a line per gate that does not hold (and the nodes
/// that break it); InvalidArgument for a gate that cannot be read.
Status check_gates(const GraphFile& file, const DeviceSet& devices, const PlaceOptions& options,
                   const Placement& placement, const EdgeCopies& copies, const Gates& gates);

}  // namespace emplace
