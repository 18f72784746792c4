#include "core/device/system_memory.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <limits>
#include <string_view>

#include "core/base/cat.h"
#include "core/base/units.h"

namespace emplace {
namespace {

/// "225.00MiB", as TensorFlow writes sizes.
std::string tensorflow_size(int64_t bytes) {
  if (bytes < 1024) return cat(bytes, "B");
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(kUnits); ++unit) amount /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 ? "%.1f%s" : "%.2f%s", amount, kUnits[unit]);
  return text;
}

}  // namespace

SystemMemory leave_system_memory(int64_t limit, int64_t available, const char* asked) {
  const std::string_view text = asked ? asked : "";
  if (text.empty()) return {limit, {}};
  int64_t mib = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mib);
  if (error != std::errc() || end != text.data() + text.size() || mib < 0) {
    return {limit, cat("The requested reserved device memory ", text, " is invalid. The request will be ignored.")};
  }
  const int64_t bytes =
      mib <= std::numeric_limits<int64_t>::max() / kMiB ? mib * kMiB : std::numeric_limits<int64_t>::max();
  if (bytes <= available) return {std::max(available - bytes, kMiB), {}};  // 0 would mean no limit
  return {limit,
          cat("The requested reserved device memory ", tensorflow_size(bytes),
              " is larger than the available memory of ", tensorflow_size(available), ". The request is ignored.")};
}

}  // namespace emplace
