/// Opens the plug-in that carries messages by MPI, when --engine mpi asks for it.
#pragma once

#include "core/base/status.h"
#include "core/cluster/message_passing.h"

namespace emplace {

/// MPI is started. Unavailable, blamed on the device: there is none. Once per process; the result lives as long as it.
Result<MessagePassing*> load_message_passing(const char* (*environment)(const char*));

}  // namespace emplace
