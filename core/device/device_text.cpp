#include "core/device/device_text.h"

#include <cctype>

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

std::optional<std::string> device_of_other_words(std::string_view text) {
  struct Word {
    std::string_view word, type;
  };
  static constexpr Word kWords[] = {{"GPU", "GPU"}, {"CUDA", "GPU"}, {"CPU", "CPU"}};
  constexpr std::string_view kDevice = "device:", kDigits = "0123456789";
  std::string_view rest = text;
  if (rest.starts_with('/')) rest.remove_prefix(1);
  if (rest.starts_with(kDevice)) rest.remove_prefix(kDevice.size());
  std::string upper(rest);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (const Word& word : kWords) {
    if (!upper.starts_with(word.word)) continue;
    std::string_view number = std::string_view(upper).substr(word.word.size());
    if (!number.empty() && std::string_view(":_- ").find(number[0]) != number.npos) number.remove_prefix(1);
    if (number.find_first_not_of(kDigits) != number.npos) return std::nullopt;
    const std::optional<DeviceName> name = DeviceName::parse(text);
    if (name && name->type == word.type) return std::nullopt;
    return cat("/device:", word.type, number.empty() ? "" : ":", number);
  }
  return std::nullopt;
}

int64_t promised_memory(const Device& device) {
  constexpr int64_t kNominal = int64_t{256} << 20;
  return device.type == "CPU" && device.memory_limit == kNominal ? 0 : device.memory_limit;
}

}  // namespace emplace
