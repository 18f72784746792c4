#include "core/device/visible_devices.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "core/base/cat.h"

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

}  // namespace

std::vector<int> cuda_visible_devices(const char* value, std::span<const PhysicalGpu> gpus) {
  if (!value) return all_up_to(static_cast<int>(gpus.size()));
  // The start of the list says of which kind all its entries are.
  std::string_view list = trimmed(value);
  const std::string_view kind = list.substr(0, 4);
  const bool instances = kind == "MIG-";
  auto find = [&](std::string_view entry) {
    if (!instances && kind != "GPU-") return gpu_by_index(entry, gpus);
    return entry.starts_with(kind) ? gpu_by_uuid(entry, gpus) : std::nullopt;
  };
  std::vector<int> visible;
  for_each_entry(list, [&](std::string_view entry) {
    std::optional<int> gpu = find(trimmed(entry));
    if (!gpu) return false;
    bool repeated = std::find(visible.begin(), visible.end(), *gpu) != visible.end();
    repeated ? visible.clear() : visible.push_back(*gpu);
    return !repeated && !instances;
  });
  return visible;
}

Result<std::vector<int>> parse_visible_device_list(std::string_view list, int visible_count) {
  if (list.empty()) return all_up_to(visible_count);
  std::vector<int> order;
  Status status;
  for_each_entry(list, [&](std::string_view entry) {
    auto number = leading_number(trimmed(entry));
    if (!number || !number->rest.empty()) {
      status = invalid_argument(
          cat("Could not parse entry in 'visible_device_list': '", entry, "'. visible_device_list = ", list));
    } else if (number->value < 0 || number->value >= visible_count) {
      status = invalid_argument(cat("'visible_device_list' listed an invalid Device id '", number->value,
                                    "' but visible device count is ", visible_count));
    } else {
      order.push_back(number->value);
    }
    return status.ok();
  });
  RETURN_IF_ERROR(status);
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return invalid_argument(cat("visible_device_list contained a duplicate entry: ", list));
  }
  return order;
}

}  // namespace emplace
