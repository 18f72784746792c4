/// Sizes, times and counts in text: how people write them in flags and read them in reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace emplace {

inline constexpr int64_t kMiB = int64_t{1} << 20;

/// "4GiB", "512 MiB", "1.5GiB", "64KiB", "4096", "4096B" in bytes; decimal units (kB, MB, GB) are powers of 1000.
/// InvalidArgument for anything else, negative sizes and sizes beyond int64.
Result<int64_t> parse_size(std::string_view text);

/// "48 B", "14.2 MiB".
std::string size_text(int64_t bytes);
/// "5.1/16.0 GiB", in the unit of the whole; just the part if the whole is 0.
std::string share_text(int64_t part, int64_t whole);

/// "0.42 ms", "3.1 s".
std::string time_text(double seconds);

/// "1 node", "2 nodes".
std::string counted(int64_t n, std::string_view thing);

}  // namespace emplace
