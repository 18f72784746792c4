#include "core/device/described.h"

#include <charconv>
#include <set>

#include "core/base/cat.h"
#include "core/base/file_error.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/base/units.h"

namespace emplace {
namespace {

constexpr int kMaxCount = 65000;  // DeviceId has 16 bits
constexpr std::string_view kForms =
    "write '2xGPU:16GiB', 'CPU', 'GPU:0' or '/job:worker/replica:0/task:0/device:GPU:0:8GiB'";

Status bad_entry(std::string_view entry, std::string_view why) {
  return invalid_argument(cat("--devices: '", printable(entry), "' ", why, "; ", kForms));
}

Status read_memory(std::string_view entry, std::string_view text, int64_t& bytes) {
  Result<int64_t> size = parse_size(text);
  if (!size.ok()) return size.status().with_context(cat("--devices: '", printable(entry), "'"));
  bytes = *size;
  return ok_status();
}

/// "CPU", "2xGPU:16GiB".
struct Short {
  int count = 1;
  std::string type;
  int64_t memory = 0;
};

bool all_digits(std::string_view s) {
  return !s.empty() && s.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "/job:a/task:1/gpu:0", "GPU:0", each perhaps with ":8GiB".
bool is_named(std::string_view entry) {
  if (entry.starts_with('/')) return true;
  size_t colon = entry.find(':');
  if (colon == std::string_view::npos) return false;
  std::string_view id = entry.substr(colon + 1);
  return all_digits(id.substr(0, id.find(':'))) && !all_digits(entry.substr(0, entry.find('x')));
}

Result<Short> parse_short(std::string_view entry) {
  Short out;
  std::string_view rest = entry;
  if (size_t x = rest.find('x'); x != std::string_view::npos && all_digits(rest.substr(0, x))) {
    auto error = std::from_chars(rest.data(), rest.data() + x, out.count).ec;
    if (error != std::errc() || out.count < 1 || out.count > kMaxCount)
      return bad_entry(entry, cat("has a count outside 1 to ", kMaxCount));
    rest.remove_prefix(x + 1);
  }
  size_t colon = rest.find(':');
  // The device name grammar says what a type is.
  auto name = DeviceName::parse(cat("/device:", rest.substr(0, colon)));
  if (!name || !name->type) return bad_entry(entry, "names no device type");
  out.type = *name->type == "cpu" ? "CPU" : *name->type == "gpu" ? "GPU" : *name->type;
  if (colon == std::string_view::npos) return out;
  std::string_view memory = rest.substr(colon + 1);
  if (all_digits(memory)) return bad_entry(entry, "has a memory size without a unit");
  RETURN_IF_ERROR(read_memory(entry, memory, out.memory));
  return out;
}

Result<Device> parse_named(std::string_view entry) {
  // "GPU:0" is "/device:GPU:0"; "cpu:0" and "gpu:0" are the legacy spelling.
  std::string text = entry.starts_with('/')
                         ? std::string(entry)
                         : cat(entry.starts_with("cpu:") || entry.starts_with("gpu:") ? "/" : "/device:", entry);
  int64_t memory = 0;
  auto name = DeviceName::parse(text);
  if (size_t colon = text.rfind(':'); !name && colon != std::string::npos) {
    name = DeviceName::parse(std::string_view(text).substr(0, colon));
    if (name) RETURN_IF_ERROR(read_memory(entry, std::string_view(text).substr(colon + 1), memory));
  }
  if (!name) return bad_entry(entry, "is not a device name");
  if (!name->type || !name->id) return bad_entry(entry, "names no device type and number");
  DeviceName full = *DeviceName::parse(kLocalTask);
  full.ensure_specification(*name);
  return described_device(full, memory);
}

Status check_unique(const std::vector<Device>& devices) {
  std::set<std::string_view> names;
  for (const Device& d : devices) {
    if (!names.insert(d.name).second) return invalid_argument(cat("--devices: ", d.name, " is described twice"));
  }
  if (devices.size() > kMaxCount)
    return invalid_argument(cat("--devices: ", devices.size(), " devices; at most ", kMaxCount));
  return ok_status();
}

Result<DescribedDevices> read_file(const std::string& path) {
  constexpr int64_t kMostBytes = int64_t{256} << 20;  // ten times what 65,000 devices take
  auto file = InputFile::open(path, {.most_bytes = kMostBytes});
  if (!file.ok()) return unreadable(path, file.status()).with_context("--devices");
  if ((*file)->bytes().empty()) return empty_file(path).with_context("--devices");
  DescribedDevices out;
  ASSIGN_OR_RETURN(out.devices, parse_device_attributes((*file)->bytes(), printable(path)));
  if (out.devices.empty()) return invalid_argument(cat("--devices: ", printable(path), " describes no device"));
  RETURN_IF_ERROR(check_unique(out.devices));
  return out;
}

/// CPUs first, then the other types as written; ids count up per type.
std::vector<Device> devices_of(const std::vector<Short>& entries) {
  std::map<std::string, int> next_id;
  std::vector<Device> cpus, others;
  DeviceName name = *DeviceName::parse(kLocalTask);
  for (const Short& entry : entries) {
    if (entry.type == "GPU") continue;
    for (int i = 0; i < entry.count; ++i) {
      name.type = entry.type;
      name.id = next_id[entry.type]++;
      (entry.type == "CPU" ? cpus : others).push_back(described_device(name, entry.memory));
    }
  }
  cpus.insert(cpus.end(), others.begin(), others.end());
  return cpus;
}

}  // namespace

Device described_device(const DeviceName& name, int64_t memory_limit) {
  Device d;
  d.name = name.to_string();
  d.parsed = name;
  d.type = *name.type;
  d.kind = DeviceKind::kDescribed;
  d.memory_limit = memory_limit;
  return d;
}

Result<DescribedDevices> read_described(std::string_view spec) {
  if (spec.starts_with('@')) return read_file(std::string(spec.substr(1)));
  DescribedDevices out;
  std::vector<Short> machine;
  for (std::string_view rest = spec;;) {
    std::string_view entry = rest.substr(0, rest.find(','));
    const size_t length = entry.size();
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (entry.empty()) return bad_entry(spec, "has an empty entry");
    if (is_named(entry)) {
      ASSIGN_OR_RETURN(Device device, parse_named(entry));
      out.devices.push_back(std::move(device));
    } else {
      ASSIGN_OR_RETURN(Short part, parse_short(entry));
      machine.push_back(std::move(part));
    }
    if (length == rest.size()) break;
    rest.remove_prefix(length + 1);
  }
  if (machine.empty()) {
    RETURN_IF_ERROR(check_unique(out.devices));
    return out;
  }
  if (!out.devices.empty()) return bad_entry(spec, "mixes counts of a machine with device names");
  int64_t total = 0;
  for (const Short& part : machine) total += part.count;
  if (total > kMaxCount) return bad_entry(spec, cat("asks for ", total, " devices, more than ", kMaxCount));
  out.is_machine = true;
  out.devices = devices_of(machine);
  for (const Short& part : machine) {
    if (part.type == "GPU") out.gpu_memory.insert(out.gpu_memory.end(), static_cast<size_t>(part.count), part.memory);
  }
  return out;
}

}  // namespace emplace
