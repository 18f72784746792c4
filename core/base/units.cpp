#include "core/base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "core/base/cat.h"

namespace emplace {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 10> kUnits = {{{"", 1},
                                          {"B", 1},
                                          {"KiB", 0x1p10},
                                          {"MiB", 0x1p20},
                                          {"GiB", 0x1p30},
                                          {"TiB", 0x1p40},
                                          {"kB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12}}};

constexpr std::array<Unit, 5> kShown = {{{"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}}};

const Unit& unit_for(int64_t bytes) {
  size_t i = 0;
  while (i + 1 < kShown.size() && static_cast<double>(bytes) >= kShown[i + 1].bytes) ++i;
  return kShown[i];
}

std::string number_in(int64_t bytes, const Unit& unit) {
  char text[40];
  std::snprintf(text, sizeof text, unit.bytes == 1 ? "%.0f" : "%.1f", static_cast<double>(bytes) / unit.bytes);
  return text;
}

}  // namespace

Result<int64_t> parse_size(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error == std::errc{}) {
    std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    for (const Unit& unit : kUnits) {
      if (rest != unit.name) continue;
      double bytes = number * unit.bytes;
      if (bytes >= 0 && bytes < 0x1p63) return static_cast<int64_t>(std::llround(bytes));
    }
  }
  return invalid_argument(
      cat("'", text, "' is not a size; write a number and one of B, KiB, MiB, GiB, TiB, such as 512MiB"));
}

std::string size_text(int64_t bytes) {
  const Unit& unit = unit_for(bytes);
  return cat(number_in(bytes, unit), " ", unit.name);
}

std::string share_text(int64_t part, int64_t whole) {
  if (whole <= 0) return size_text(part);
  const Unit& unit = unit_for(whole);
  // A part too small to show in the whole's unit is said in its own.
  if (part > 0 && static_cast<double>(part) < 0.05 * unit.bytes) return cat(size_text(part), "/", size_text(whole));
  return cat(number_in(part, unit), "/", number_in(whole, unit), " ", unit.name);
}

std::string time_text(double seconds) {
  char text[40];
  if (seconds >= 1) {
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  } else if (seconds >= 1e-3) {
    std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  }
  return text;
}

std::string counted(int64_t n, std::string_view thing) { return cat(n, " ", thing, n == 1 ? "" : "s"); }

}  // namespace emplace
