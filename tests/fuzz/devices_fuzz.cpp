// --devices in short form, and as a file of DeviceAttributes: devices whose names read back, or an error.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/device/described.h"

using namespace emplace;

namespace {

void check(const std::vector<Device>& devices) {
  for (const Device& d : devices) {
    auto name = DeviceName::parse(d.name);
    if (!name || !name->complete()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto file = parse_device_attributes(text, "fuzz"); file.ok()) check(*file);
  if (!text.starts_with('@')) {  // that would name a file
    if (auto spec = read_described(text); spec.ok()) check(spec->devices);
  }
  return 0;
}
