/// Finds and loads the plug-in behind core/cluster/transport.h.
#pragma once

#include "core/base/status.h"
#include "core/cluster/transport.h"

namespace emplace {

/// That of EMPLACE_CLUSTER_PLUGIN, else the one beside the program. Unavailable, blamed on this machine: there is none
/// (and how to build it), or it cannot be loaded or is of another build.
Result<Transport*> load_transport(const char* (*environment)(const char*));

}  // namespace emplace
