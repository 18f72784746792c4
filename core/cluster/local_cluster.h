/// A session whose steps run on all tasks of a cluster, which are threads of this process: the same steps, messages and
/// failures as between processes, without a network.
#pragma once

#include <memory>

#include "core/cluster/local_network.h"
#include "core/run/session.h"
#include "core/run/task_state.h"

namespace emplace {

/// `devices`: of all tasks, the session's own first (DeviceSet::own_task). Each task places nothing anew: it cuts the
/// placed graph, keeps its own part of each step, and has variables, memory and limits of its own. Steps run one at a
/// time; results and feeds are the own task's. A failure is that of the task which failed first: "From TASK:\n...".
/// Arguments as for Session::create(). Unimplemented: an observer, a trace. `states`: what the tasks keep between
/// sessions and share among them, made for those that are not in it yet; null: all ends with the session.
Result<std::unique_ptr<Session>> create_local_cluster(const GraphFile& file, const DeviceSet& devices,
                                                      const Placement& placement, const SessionOptions& options,
                                                      const NetworkFaults& faults = {}, TaskStates* states = nullptr);

}  // namespace emplace
