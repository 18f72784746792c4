// emplace devices: physical and logical devices, or what a device name means.
#include "cli/command.h"
#include "core/report/devices_report.h"

namespace emplace {

int devices_command(const Options& options, Log& log) {
  bool json = options.format == "json";
  if (options.pipeline.given.contains("parse")) {
    print(json ? parse_name_json(options.parse_name) : parse_name_text(options.parse_name));
    return 0;
  }
  Result<DeviceSet> devices = find_devices(options.pipeline.devices, log);
  if (!devices.ok()) {
    log.error(devices.status().message());
    return devices.status().code() == Code::kUnavailable ? 5 : 2;
  }
  print(json ? devices_json(*devices) : devices_table(*devices));
  return 0;
}

}  // namespace emplace
