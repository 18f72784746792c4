#include "core/device/device_text.h"

#include "core/base/cat.h"

namespace emplace {

std::string short_device_name(const DeviceSet& devices, DeviceId id) {
  const Device& device = devices.at(id);
  for (const Device& other : devices.devices) {
    if (!other.parsed.same_address_space(device.parsed)) return device.name;
  }
  return cat(device.type, ":", device.parsed.id.value_or(0));
}

std::optional<std::string> device_as_typed(std::string_view text) {
  if (DeviceName::parse(text)) return std::string(text);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text == "cpu" || text == "/cpu") return "/device:CPU";
  if (text == "gpu" || text == "/gpu") return "/device:GPU";
  if (text.starts_with('/')) return DeviceName::parse(text) ? std::optional<std::string>(text) : std::nullopt;
  if (std::string name = cat("/", text); DeviceName::parse(name)) return name;
  if (std::string name = cat("/device:", text); text.find('/') == text.npos && DeviceName::parse(name)) return name;
  return std::nullopt;
}

int64_t promised_memory(const Device& device) {
  constexpr int64_t kNominal = int64_t{256} << 20;
  return device.type == "CPU" && device.memory_limit == kNominal ? 0 : device.memory_limit;
}

}  // namespace emplace
