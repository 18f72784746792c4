#include "core/report/auto_bands.h"

#include <algorithm>

#include "core/base/cat.h"

namespace emplace {
namespace {

std::string name_in_band(const std::string& device) { return device.substr(device.rfind("device:") + 7); }

void lay_out(AutoBand& band) {
  std::stable_sort(band.rows.begin(), band.rows.end(),
                   [](const auto* a, const auto* b) { return a->start_us < b->start_us; });
  std::vector<double> free_at;
  for (const AutoReport::Row* row : band.rows) {
    size_t line = 0;
    while (line < free_at.size() && free_at[line] > row->start_us) ++line;
    if (line == free_at.size()) free_at.push_back(0);
    free_at[line] = row->end_us;
    band.lines.push_back(line);
  }
  band.num_lines = free_at.size();
}

}  // namespace

std::map<std::string, AutoBand> auto_bands(const AutoReport& r) {
  std::map<std::string, AutoBand> bands;
  for (const AutoReport::Row& row : r.schedule) {
    if (row.end_us <= row.start_us) continue;
    const std::string from = name_in_band(row.device);
    bands[row.copy ? cat(from, " to ", name_in_band(row.to)) : from].rows.push_back(&row);
  }
  for (auto& [name, band] : bands) lay_out(band);
  return bands;
}

}  // namespace emplace
