/// The processes of one MPI job as a cluster: every rank is a task and runs the same command on the same files; each
/// cuts the placed graph as all others do, and runs its part. The first rank's task is the sessions' own: it has feeds
/// and results, and speaks.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/cluster/cluster.h"
#include "core/cluster/cluster_spec.h"
#include "core/cluster/message_passing.h"

namespace emplace {

/// Of the plug-in libemplace_mpi.so; MPI is started. Unavailable, blamed on the device: there is none. Once per
/// process.
Result<MessagePassing*> load_message_passing(const char* (*environment)(const char*));

/// The ranks' devices are gathered. `jobs`: ranks fill them in this order; `own`: this rank's devices, under any task's
/// name. All ranks call it. InvalidArgument: not as many ranks as tasks; FailedPrecondition: ranks of several versions.
Result<std::shared_ptr<Cluster>> open_mpi_cluster(MessagePassing& ranks, const JobCounts& jobs, DeviceSet own,
                                                  const std::string& version, const std::atomic<bool>* stop);

}  // namespace emplace
