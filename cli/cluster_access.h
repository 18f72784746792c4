/// The flags by which tasks of a cluster, and those who run graphs on them, find and trust each other.
#pragma once

#include <string>

#include "cli/option_set.h"
#include "core/cluster/transport.h"

namespace emplace {

struct ClusterAccess {
  std::string token_file;
  std::string tls_cert, tls_key, tls_ca;  // files
  double connect_timeout_s = 30, heartbeat_s = 5, dead_after_s = 15;
};
void declare_cluster_access(OptionSet& set, ClusterAccess& access);
/// The token is read, or made. Errors are of usage.
Result<TransportOptions> transport_options(const ClusterAccess& access);

}  // namespace emplace
