/// The flags of commands that are a task of a cluster: which one, and at which address it takes requests.
#pragma once

#include <string>

#include "cli/cluster_access.h"
#include "cli/cluster_choice.h"
#include "cli/option_set.h"
#include "core/base/log.h"
#include "core/cluster/task_server.h"
#include "core/pipeline_options.h"

namespace emplace {

struct ServerFlags {
  ClusterChoiceFlags choice;
  std::string bind;
  bool insecure = false;
  ClusterAccess access;
};
void declare_server(OptionSet& set, ServerFlags& flags);

/// What a server is started with, but for its devices. Errors are of usage.
Result<TaskServerOptions> server_options(const ServerFlags& flags, const PipelineOptions& options, Log& log);

/// "a token, no encryption": who may send requests.
std::string protection_text(const ServerFlags& flags);

/// Has standard input ended?
bool input_ended();

}  // namespace emplace
