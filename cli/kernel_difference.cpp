#include "cli/kernel_difference.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/base/units.h"
#include "core/place/place_in_order.h"
#include "core/place/placer_state.h"

namespace emplace {
namespace {

/// Larger graphs are not compared: the second placement would cost more time than the notice is worth.
constexpr uint32_t kMaxCompared = 50'000;

struct Difference {
  int64_t nodes = 0;
  std::string ops;  // of the first few
};

Difference compare(const Placed& p, const Placement& other) {
  constexpr int64_t kShown = 3;
  Difference d;
  const Graph& g = p.file->graph;
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    if (other.device(id) != p.placement->device(id) && ++d.nodes <= kShown)
      append(d.ops, d.ops.empty() ? "" : ", ", g.op(id));
  }
  if (d.nodes > kShown) d.ops += ", ...";
  return d;
}

/// Then what differs from TensorFlow's rule need not be for want of a kernel.
bool chosen_by_cost(const Placement& placement) {
  return std::any_of(placement.decisions.begin(), placement.decisions.end(),
                     [](const Decision& d) { return d.reason == Reason::kCost; });
}

bool say_missing(const Placed& p, Log& log) {
  std::vector<NodeId> missing = nodes_without_available_kernel(*p.file);
  if (missing.empty()) return false;
  const Graph& g = p.file->graph;
  log.info(cat(counted(static_cast<int64_t>(missing.size()), "node"), " cannot run here, the first is '",
               g.name(missing.front()), "' (", g.op(missing.front()), ")"));
  return true;
}

}  // namespace

void say_kernel_difference(const Placed& p, bool runs, Log& log) {
  if (!log.shows(LogLevel::kInfo)) return;
  const bool available = p.options->available_kernels_only;
  if (!available && !runs && say_missing(p, log)) return;
  if (p.devices->size() < 2 || p.file->graph.num_nodes() > kMaxCompared || chosen_by_cost(*p.placement)) return;
  if (!kernels_differ(*p.file, *p.devices)) return;  // as almost always: the second placement would be the same
  PlaceOptions options = *p.options;
  options.available_kernels_only = !available;
  std::vector<std::string> offenders;
  Result<Placement> other =
      place_in_order(*p.file, *p.devices, options, p.placement->state->order(), offenders, nullptr);
  if (!other.ok()) {
    if (!available && !runs)
      log.info("with the kernels that emplace has this cannot be placed: 'emplace place --kernels available' says why");
    return;
  }
  const Difference d = compare(p, *other);
  if (d.nodes == 0) return;
  const std::string nodes = counted(d.nodes, "node");
  log.info(available ? cat(nodes, " placed elsewhere than TensorFlow would, for want of a kernel here: ", d.ops,
                           "; --kernels tensorflow places as TensorFlow")
                     : cat(nodes, " would run elsewhere here, for want of a kernel: ", d.ops,
                           "; --kernels available places so"));
}

}  // namespace emplace
