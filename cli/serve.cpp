// emplace serve: a task of a cluster, until it is told to end. tf.distribute.Server(cluster, job_name,
// task_index).join().
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/cluster_flags.h"
#include "cli/command.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/program_version.h"
#include "core/base/text_file.h"
#include "core/cluster/load_transport.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

constexpr double kGrace = 5;  // seconds that running steps get at the end

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::string address_text(const std::string& host, int port) {
  return host.find(':') == host.npos ? cat(host, ":", port) : cat("[", host, "]:", port);
}

class ServeCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.group("Cluster");
    set.list("cluster", "JOB=HOST:PORT,...",
             "The tasks of each job (repeat), @FILE with a ClusterDef, or env: TF_CONFIG, which is the default",
             cluster_);
    set.text("job-name", "JOB", "The job of this task", job_);
    set.value("task-index", "N", "Its number in the job", set_integer(index_, 0));
    set.text("bind", "ADDRESS", "Take requests at this address of the machine (default: loopback)", bind_);
    set.flag("insecure", "Beyond loopback without encryption: whoever reads the network can run graphs here",
             insecure_);
    declare_cluster_access(set, access_);
    set.text("ready-file", "FILE", "Gets the target once requests are answered", ready_file_);
    set.flag("until-eof", "End when standard input does", until_eof_);
    set.group("Devices");
    declare_devices(set, o.pipeline);
  }

  int run(const Options& options, Log& log) override {
    Result<TaskServerOptions> server = server_options(options);
    if (!server.ok()) return usage(log, server.status());
    Result<Transport*> transport = load_transport(environment_variable);
    if (!transport.ok()) return report_error(transport.status(), log);
    Result<DeviceSet> devices = find_devices(options.pipeline, log);
    if (!devices.ok()) return report_error(devices.status(), log);
    if (!devices->runnable) return usage(log, "--devices describes devices, which run nothing");
    server->devices = devices.take();
    server->say = [&log](const std::string& line) { log.info(line); };
    Result<std::unique_ptr<TaskServer>> started = TaskServer::start(**transport, server.take());
    if (!started.ok()) return report_error(started.status(), log);
    return serve(**started, log);
  }

 private:
  Result<TaskServerOptions> server_options(const Options& options) {
    TaskServerOptions server;
    RETURN_IF_ERROR(choose(options, server));
    ASSIGN_OR_RETURN(const std::string address, address_of(server.cluster, server.self));
    ASSIGN_OR_RETURN(const HostPort own, parse_host_port(address));
    const std::string host = !bind_.empty() ? bind_ : own.host;
    if (!is_loopback(host) && !insecure_) {
      return invalid_argument(cat(address,
                                  " is beyond loopback: anybody who reads the network could run graphs here; "
                                  "--bind 127.0.0.1 keeps to this machine, --bind ",
                                  host, " --insecure does it all the same"));
    }
    server.bind = address_text(host == "localhost" ? "127.0.0.1" : host, own.port);
    server.version = program_version();
    ASSIGN_OR_RETURN(server.transport, transport_options(access_));
    return server;
  }

  Status choose(const Options& options, TaskServerOptions& server) {
    const bool from_environment = cluster_.empty() || cluster_ == std::vector<std::string>{"env"};
    std::optional<std::string> job;
    std::optional<int> index;
    if (from_environment) {
      const char* text = environment_variable("TF_CONFIG");
      if (!text) return invalid_argument("wanted --cluster JOB=HOST:PORT,..., @FILE, or TF_CONFIG to be set");
      ASSIGN_OR_RETURN(TfConfig config, parse_tf_config(text));
      server.cluster = std::move(config.cluster), job = config.type, index = config.index;
    } else {
      ASSIGN_OR_RETURN(server.cluster, parse_cluster(cluster_));
    }
    if (server.cluster.empty()) server.cluster.jobs["localhost"][0] = "localhost:0";
    if (options.pipeline.given.contains("job-name")) job = job_;
    if (options.pipeline.given.contains("task-index")) index = static_cast<int>(index_);
    ASSIGN_OR_RETURN(server.self, choose_task(server.cluster, job, index));
    return ok_status();
  }

  int serve(TaskServer& server, Log& log) const {
    const std::string target = server.target();
    log.info(cat("Started server with target: ", target));
    std::string names;
    for (const Device& d : server.devices().devices) append(names, names.empty() ? "" : ", ", d.name);
    log.info(cat(names, "; ", insecure_ ? "a token, no encryption" : "loopback only, a token"));
    if (!ready_file_.empty()) {
      if (const Status status = write_text_file(ready_file_, target + "\n"); !status.ok())
        return report_error(status.with_context("--ready-file"), log);
    }
    while (!stop_flag() && !ended()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    server.shut_down(kGrace);
    return caught_signal() == 0 ? 0 : 128 + caught_signal();
  }

  bool ended() const {
    if (!until_eof_) return false;
    pollfd in{STDIN_FILENO, POLLIN, 0};
    char byte;
    return poll(&in, 1, 0) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
  }

  std::vector<std::string> cluster_;
  std::string job_, bind_, ready_file_;
  int64_t index_ = 0;
  bool insecure_ = false, until_eof_ = false;
  ClusterAccess access_;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace emplace
