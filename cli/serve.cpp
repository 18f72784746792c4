// emplace serve: a task of a cluster, until it is told to end. tf.distribute.Server(cluster, job_name,
// task_index).join().
#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/command.h"
#include "cli/server_flags.h"
#include "cli/signals.h"
#include "core/base/cat.h"
#include "core/base/text_file.h"
#include "core/cluster/load_transport.h"
#include "core/pipeline_stage.h"

namespace emplace {
namespace {

constexpr double kGrace = 5;  // seconds that running steps get at the end

class ServeCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.group("Cluster");
    declare_server(set, server_);
    set.text("ready-file", "FILE", "Gets the target once requests are answered", ready_file_);
    set.list("data-root", "DIR", "A folder whose files graphs may read and write here (default: none)",
             server_.data_roots);
    set.flag("until-eof", "End when standard input does", until_eof_);
    set.group("Devices");
    declare_devices(set, o.pipeline);
  }

  int run(const Options& options, Log& log) override {
    for (const std::string& folder : server_.data_roots) {
      if (std::error_code error; !std::filesystem::is_directory(folder, error))
        return usage(log, cat("--data-root: '", folder, "' is not a folder"));
    }
    Result<TaskServerOptions> server = server_options(server_, options.pipeline, log);
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
  int serve(TaskServer& server, Log& log) const {
    const std::string target = server.target();
    log.info(cat("Started server with target: ", target));
    std::string names;
    for (const Device& d : server.devices().devices) append(names, names.empty() ? "" : ", ", d.name);
    log.info(cat(names, "; ", protection_text(server_)));
    if (!ready_file_.empty()) {
      if (const Status status = write_text_file(ready_file_, target + "\n"); !status.ok())
        return report_error(status.with_context("--ready-file"), log);
    }
    while (!stop_flag() && !(until_eof_ && input_ended())) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    server.shut_down(kGrace);
    return caught_signal() == 0 ? 0 : 128 + caught_signal();
  }

  ServerFlags server_;
  std::string ready_file_;
  bool until_eof_ = false;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace emplace
