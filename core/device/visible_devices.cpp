#include "core/device/visible_devices.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/base/units.h"

namespace emplace {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

/// Calls f(entry) for the entries between commas until it returns false.
template <class F>
void for_each_entry(std::string_view list, const F& f) {
  while (true) {
    size_t comma = list.find(',');
    if (!f(list.substr(0, comma)) || comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

std::vector<int> all_up_to(int count) {
  std::vector<int> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

struct Number {
  int value;
  std::string_view rest;
};

std::optional<Number> leading_number(std::string_view s) {
  if (s.starts_with('+')) {
    s.remove_prefix(1);
    if (s.starts_with('-')) return std::nullopt;
  }
  int value = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  if (error != std::errc()) return std::nullopt;
  return Number{value, s.substr(static_cast<size_t>(end - s.data()))};
}

// "1gpu" is 1, as C's strtoul reads it.
std::optional<int> gpu_by_index(std::string_view entry, std::span<const PhysicalGpu> gpus) {
  auto number = leading_number(entry);
  if (!number || number->value < 0 || static_cast<size_t>(number->value) >= gpus.size()) return std::nullopt;
  return number->value;
}

// "GPU-..." of a card, "MIG-..." of an instance of one (also "MIG-GPU-.../1/0", of drivers before 470).
std::optional<int> gpu_by_uuid(std::string_view entry, std::span<const PhysicalGpu> gpus) {
  std::optional<int> found;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i].uuid.starts_with(entry)) continue;
    if (found) return std::nullopt;  // ambiguous
    found = static_cast<int>(i);
  }
  return found;
}

struct MaskReading {
  std::vector<int> visible;
  std::string_view last;  // the entry that ended the list; empty: its end
  bool repeated = false;  // that one was there before
};

MaskReading read_mask(std::string_view value, std::span<const PhysicalGpu> gpus) {
  // The start of the list says of which kind all its entries are.
  const std::string_view list = trimmed(value), kind = list.substr(0, 4);
  const bool instances = kind == "MIG-";
  auto find = [&](std::string_view entry) {
    if (!instances && kind != "GPU-") return gpu_by_index(entry, gpus);
    return entry.starts_with(kind) ? gpu_by_uuid(entry, gpus) : std::nullopt;
  };
  MaskReading read;
  for_each_entry(list, [&](std::string_view entry) {
    entry = trimmed(entry);
    std::optional<int> gpu = find(entry);
    read.repeated = gpu && std::find(read.visible.begin(), read.visible.end(), *gpu) != read.visible.end();
    if (!gpu || read.repeated) read.last = entry;
    if (read.repeated) read.visible.clear();
    if (!gpu || read.repeated) return false;
    read.visible.push_back(*gpu);
    return !instances;
  });
  return read;
}

/// What people write to say that no further GPU shall be seen.
bool means_none(std::string_view entry) { return entry.empty() || entry.starts_with('-') || entry == "NoDevFiles"; }

}  // namespace

std::vector<int> cuda_visible_devices(const char* value, std::span<const PhysicalGpu> gpus) {
  return value ? read_mask(value, gpus).visible : all_up_to(static_cast<int>(gpus.size()));
}

std::string mask_oddity(const char* value, std::span<const PhysicalGpu> gpus) {
  if (!value || gpus.empty()) return {};
  const MaskReading read = read_mask(value, gpus);
  const std::string shown = cat("CUDA_VISIBLE_DEVICES=", printable(value));
  if (read.repeated) return cat(shown, " names '", printable(read.last), "' twice, which hides every GPU");
  if (means_none(read.last)) return {};
  return cat(shown, ": there is no GPU '", printable(read.last), "' (",
             counted(static_cast<int64_t>(gpus.size()), "GPU"), " here), which hides it and all that follow it");
}

bool mask_wants_gpu(const char* value) {
  if (!value) return false;
  const std::string_view list = value;
  return !means_none(trimmed(list.substr(0, list.find(','))));
}

namespace {

/// Calls f(number) for each; ends with the first that is none, or that f returns an error for.
template <class F>
Status for_each_number(std::string_view list, const F& f) {
  Status status;
  for_each_entry(list, [&](std::string_view entry) {
    const auto number = leading_number(trimmed(entry));
    status = number && number->rest.empty() ? f(number->value)
                                            : invalid_argument(cat("Could not parse entry in 'visible_device_list': '",
                                                                   entry, "'. visible_device_list = ", list));
    return status.ok();
  });
  return status;
}

}  // namespace

Status check_visible_device_list(std::string_view list) {
  return list.empty() ? ok_status() : for_each_number(list, [](int) { return ok_status(); });
}

Result<std::vector<int>> parse_visible_device_list(std::string_view list, int visible_count) {
  if (list.empty()) return all_up_to(visible_count);
  std::vector<int> order;
  RETURN_IF_ERROR(for_each_number(list, [&](int number) -> Status {
    order.push_back(number);
    if (number >= 0 && number < visible_count) return ok_status();
    return invalid_argument(cat("'visible_device_list' listed an invalid Device id '", number,
                                "' but visible device count is ", visible_count));
  }));
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return invalid_argument(cat("visible_device_list contained a duplicate entry: ", list));
  }
  return order;
}

}  // namespace emplace
