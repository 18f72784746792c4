// emplace devices: physical and logical devices, or what a device name means.
#include <array>

#include "cli/command.h"
#include "core/report/devices_report.h"

namespace emplace {
namespace {

class DevicesCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.group("Devices");
    declare_devices(set, o.pipeline);
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
    Result<DeviceSet> devices = find_devices(options.pipeline, log);
    if (!devices.ok()) return report_error(devices.status(), log);
    if (json) warn_of_missing_gpu(options.pipeline, *devices, log);  // the table says so itself
    json ? print(devices_json(*devices)) : print_lines(devices_table(*devices));
    return 0;
  }

 private:
  std::string name_;  // --parse
};

}  // namespace

std::unique_ptr<Command> make_devices_command() { return std::make_unique<DevicesCommand>(); }

}  // namespace emplace
