// emplace devices: physical and logical devices, or what a device name means.
#include <cstdlib>

#include "cli/command.h"
#include "core/report/devices_report.h"

namespace emplace {
namespace {

const char* environment(const char* name) { return std::getenv(name); }

}  // namespace

int devices_command(const Options& options, Log& log) {
  bool json = options.format == "json";
  if (!options.parse_name.empty()) {
    print(json ? parse_name_json(options.parse_name) : parse_name_text(options.parse_name));
    return 0;
  }
  std::vector<std::string> warnings;
  Result<DeviceSet> devices = make_device_set(options.pipeline.devices, environment, warnings);
  for (const std::string& warning : warnings) log.warning(warning);
  if (!devices.ok()) {
    log.error(devices.status().message());
    return devices.status().code() == Code::kUnavailable ? 5 : 2;
  }
  print(json ? devices_json(*devices) : devices_table(*devices));
  return 0;
}

}  // namespace emplace
