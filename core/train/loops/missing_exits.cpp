#include "core/train/loops/missing_exits.h"

#include <vector>

#include "core/base/cat.h"
#include "core/train/gradient_path.h"

namespace emplace {

void add_missing_exits(GraphEditor& edit) {
  const Graph& g = edit.graph();
  std::vector<NodeId> switches;  // of loop variables
  std::vector<bool> has_exit(g.num_nodes(), false);
  for (NodeId id = 0; id < g.num_nodes(); ++id) {
    const Control control = g.traits(id).control;
    if (control == Control::kExit) has_exit[g.inputs(id)[0].node] = true;
    if (control == Control::kSwitch && g.traits(g.inputs(id)[1].node).loop_condition) switches.push_back(id);
  }
  for (NodeId id : switches) {
    if (has_exit[id] || !carries_gradient(g.output_type({id, 0}))) continue;
    edit.add({.name = cat(g.name(id), "/exit"),
              .op = is_ref(g.output_type({id, 0})) ? "RefExit" : "Exit",
              .inputs = {{id, 0}},
              .device = std::string(g.requested_device(id))});
  }
}

}  // namespace emplace
