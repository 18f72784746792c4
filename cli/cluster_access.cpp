#include "cli/cluster_access.h"

#include <utility>

#include "core/cluster/token.h"
#include "core/pipeline_stage.h"

namespace emplace {

void declare_cluster_access(OptionSet& set, ClusterAccess& access) {
  set.text("token-file", "FILE", "What tasks and clients share (default: one of yours, made at the first use)",
           access.token_file);
  set.value("connect-timeout", "SECONDS", "How long to wait for tasks that are not there (default 30)",
            set_number(access.connect_timeout_s));
  set.value("heartbeat", "SECONDS", "How often a silent task is asked (default 5)", set_number(access.heartbeat_s));
  set.value("dead-after", "SECONDS", "How long a task may be silent (default 15)", set_number(access.dead_after_s));
}

Result<TransportOptions> transport_options(const ClusterAccess& access) {
  if (!(access.heartbeat_s > 0) || !(access.dead_after_s > access.heartbeat_s) || access.dead_after_s > 1e6)
    return invalid_argument("--heartbeat must be positive, and --dead-after longer").blamed(Blame::kUsage);
  TransportOptions options;
  options.heartbeat_s = access.heartbeat_s, options.dead_after_s = access.dead_after_s;
  Result<std::string> token = cluster_token(access.token_file, environment_variable);
  if (!token.ok()) return token.status().with_context("--token-file").blamed(Blame::kUsage);
  options.token = token.take();
  return options;
}

}  // namespace emplace
