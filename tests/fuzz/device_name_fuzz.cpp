// Device names of any bytes: no crash, and what was read prints to a name that reads to the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/device/device_name.h"

using emplace::DeviceName;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// An id without a type is kept but has no canonical text.
DeviceName printable(DeviceName name) {
  if (!name.type) name.id.reset();
  return name;
}

void check_printing(const DeviceName& name) {
  std::string text = name.to_string();
  auto again = DeviceName::parse(text);
  require(again && *again == printable(name));
  require(again->to_string() == text);
}

void check_relations(const DeviceName& name) {
  require(name.is_specification_of(name) && name.compatible_with(name) && !name.different_address_space(name));
  for (auto mode : {emplace::MergeMode::kStrict, emplace::MergeMode::kSoft, emplace::MergeMode::kOverride}) {
    DeviceName merged;
    require(merge(merged, name, mode).ok() && merged == name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto name = DeviceName::parse(text)) {
    check_printing(*name);
    check_relations(*name);
  }
  if (auto local = DeviceName::parse_local(text)) check_printing(*local);
  const char* base = "/job:localhost/replica:0/task:0/device:CPU:0";
  if (auto full = emplace::canonicalize(text, base); full.ok()) require(DeviceName::parse(*full)->complete());
  return 0;
}
