#include "cli/server_flags.h"

#include <poll.h>
#include <unistd.h>

#include <filesystem>

#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/program_version.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::string address_text(const std::string& host, int port) {
  return host.find(':') == host.npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

/// Of a rank of a launcher: it listens on any port, where the coordinator and all others can reach it.
Status prepare_to_join(const ServerFlags& flags, const ClusterChoice& choice, TaskServerOptions& server) {
  server.coordinator = choice.coordinator, server.stop = &stop_flag();
  ASSIGN_OR_RETURN(const std::string address, address_of(server.cluster, *choice.coordinator));
  ASSIGN_OR_RETURN(const HostPort first, parse_host_port(address));
  char name[256] = "localhost";
  if (!is_loopback(first.host)) gethostname(name, sizeof name - 1);
  server.host = flags.bind.empty() ? name : flags.bind;
  std::string& own = server.cluster.jobs[server.self.job][server.self.index];
  if (own.empty()) own = cat(server.host, ":0");
  return ok_status();
}

}  // namespace

void declare_server(OptionSet& set, ServerFlags& flags) {
  declare_cluster_choice(set, flags.choice);
  set.text("bind", "ADDRESS", "Take requests at this address of the machine (default: loopback)", flags.bind);
  set.flag("insecure", "Beyond loopback without encryption: whoever reads the network can run graphs here",
           flags.insecure);
  declare_cluster_access(set, flags.access);
}

Result<TaskServerOptions> server_options(const ServerFlags& flags, const PipelineOptions& options, Log& log) {
  TaskServerOptions server;
  ASSIGN_OR_RETURN(ClusterChoice choice, choose_cluster(flags.choice, options, true));
  if (!choice.said.empty()) log.info(choice.said);
  server.cluster = std::move(choice.cluster), server.self = *choice.self;
  if (choice.coordinator) RETURN_IF_ERROR(prepare_to_join(flags, choice, server));
  ASSIGN_OR_RETURN(const std::string address, address_of(server.cluster, server.self));
  ASSIGN_OR_RETURN(const HostPort own, parse_host_port(address));
  const std::string host = !flags.bind.empty() ? flags.bind : own.host;
  if (!is_loopback(host) && !flags.insecure && flags.access.tls_ca.empty()) {
    return invalid_argument(cat(address,
                                " is beyond loopback: anybody who reads the network could run graphs here; "
                                "--tls-cert, --tls-key and --tls-ca encrypt, --bind 127.0.0.1 keeps to this machine, "
                                "--bind ",
                                host, " --insecure does it all the same"));
  }
  server.bind = address_text(host == "localhost" ? "127.0.0.1" : host, own.port);
  server.version = program_version();
  server.data_roots = flags.data_roots;
  ASSIGN_OR_RETURN(server.transport, transport_options(flags.access));
  return server;
}

std::vector<std::string> folders_of(const std::vector<std::string>& graphs, const PipelineOptions& options) {
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const std::string& graph : graphs) {
    const fs::path path = fs::absolute(graph, ignored);
    folders.push_back(fs::is_directory(path, ignored) ? path.string() : path.parent_path().string());
  }
  for (const std::string& folder : options.load.allowed_paths)
    folders.push_back(fs::absolute(folder, ignored).string());
  return folders;
}

std::string protection_text(const ServerFlags& flags) {
  if (!flags.access.tls_ca.empty()) return "TLS with certificates of both ends, a token";
  return flags.insecure ? "a token, no encryption" : "loopback only, a token";
}

bool input_ended() {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  char byte;
  return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

}  // namespace emplace
