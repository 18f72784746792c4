/// The flags of commands that are a task of a cluster: which one, and at which address it takes requests.
#pragma once

#include <string>
#include <vector>

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
  std::vector<std::string> data_roots;  // where graphs may touch files: what serve was told, else folders_of()
  ClusterAccess access;
};
void declare_server(OptionSet& set, ServerFlags& flags);

/// What a server is started with, but for its devices. Errors are of usage.
Result<TaskServerOptions> server_options(const ServerFlags& flags, const PipelineOptions& options, Log& log);

/// Where these graphs may touch files on tasks that run nothing else: their own folders, and what --allow-path adds.
std::vector<std::string> folders_of(const std::vector<std::string>& graphs, const PipelineOptions& options);

/// "a token, no encryption": who may send requests.
std::string protection_text(const ServerFlags& flags);

/// Has standard input ended?
bool input_ended();

}  // namespace emplace
