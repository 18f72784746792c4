// emplace devices: physical and logical devices, or what a device name means.
#include <array>

#include "cli/cluster_flags.h"
#include "cli/command.h"
#include "core/base/cat.h"
#include "core/report/devices_report.h"

namespace emplace {
namespace {

std::vector<TaskRow> task_rows(const message::TaskList& list) {
  std::vector<TaskRow> rows;
  for (const message::TaskStatus& task : list.tasks) {
    rows.push_back({task.name, task.address, task.version, task.incarnation, static_cast<int64_t>(task.devices.size()),
                    task.sessions});
  }
  return rows;
}

class DevicesCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.group("Devices");
    declare_devices(set, o.pipeline);
    declare_cluster_to_see(set, cluster_);
    set.group("Files and output");
    set.text("parse", "NAME", "Read a device name", name_);
    declare_format(set, o, std::array{Format::kText, Format::kJson});
  }

  int run(const Options& options, Log& log) override {
    const bool json = options.format == Format::kJson;
    if (options.pipeline.given.contains("parse")) {
      json ? print(parse_name_json(name_)) : print_lines(parse_name_text(name_));
      return DeviceName::parse(name_) ? 0 : 2;
    }
    const size_t width = output_width();
    ClusterUse use;
    if (const Status status = use.open(cluster_, options.pipeline, log); !status.ok()) return report_error(status, log);
    if (const Cluster* cluster = use.cluster()) {
      const std::vector<TaskRow> tasks = task_rows(cluster->tasks());
      const DeviceSet all = cluster->devices();
      json ? print(devices_json(all, tasks))
           : print_lines(cat(tasks_table(tasks, width), "\n", devices_table(all, width)));
      return 0;
    }
    Result<DeviceSet> devices = find_devices(options.pipeline, log);
    if (!devices.ok()) return report_error(devices.status(), log);
    if (json) warn_of_missing_gpu(options.pipeline, *devices, log);  // the table says so itself
    json ? print(devices_json(*devices)) : print_lines(devices_table(*devices, width));
    return 0;
  }

 private:
  std::string name_;  // --parse
  ClusterFlags cluster_;
};

}  // namespace

std::unique_ptr<Command> make_devices_command() { return std::make_unique<DevicesCommand>(); }

}  // namespace emplace
