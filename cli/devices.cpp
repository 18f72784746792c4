// emplace devices: physical and logical devices, or what a device name means.
#include <array>

#include "cli/command.h"
#include "core/base/exit_code.h"
#include "core/report/devices_report.h"

namespace emplace {
namespace {

class DevicesCommand final : public Command {
 public:
  void declare(OptionSet& set, Options& o) override {
    set.group("Devices");
    declare_devices(set, o.pipeline.devices);
    set.group("Files and output");
    set.text("parse", "NAME", "Read a device name", name_);
    declare_format(set, o, std::array{Format::kText, Format::kJson});
  }

  int run(const Options& options, Log& log) override {
    const bool json = options.format == Format::kJson;
    if (options.pipeline.given.contains("parse")) {
      print(json ? parse_name_json(name_) : parse_name_text(name_));
      return 0;
    }
    Result<DeviceSet> devices = find_devices(options.pipeline.devices, log);
    if (!devices.ok()) {
      log.error(devices.status().message());
      return exit_code(devices.status());
    }
    print(json ? devices_json(*devices) : devices_table(*devices));
    return 0;
  }

 private:
  std::string name_;  // --parse
};

}  // namespace

std::unique_ptr<Command> make_devices_command() { return std::make_unique<DevicesCommand>(); }

}  // namespace emplace
