// Part of core/base/host_memory.h: what Linux says about memory that can be had: /proc/meminfo, and the control group's
// limit (version 2, and 1).
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "core/base/cat.h"
#include "core/base/heap_limit.h"
#include "core/base/host_memory.h"

namespace emplace {
namespace {

/// The number behind `key` ("MemAvailable:"), or the file's first word if there is no key; nothing if it is "max".
std::optional<int64_t> first_number(const std::string& path, std::string_view key = {}) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (!key.empty() && word != key) continue;
    if (!key.empty()) file >> word;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && number >= 0) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

struct GroupFiles {
  std::string_view folder, limit, usage, cache;
};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file"};

int64_t physical_memory() { return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }

/// Of a group and all that it is in: the least that any of them has left. Cached files are given up for who asks. What
/// a group uses is read, which takes the system a while, only where its limit may be near: no group uses more than the
/// machine has.
int64_t free_in_group(const std::string& root, const GroupFiles& files, std::string group, int64_t most) {
  for (;;) {
    const std::string folder = cat(root, files.folder, group == "/" ? "" : group, "/");
    const auto limit = first_number(cat(folder, files.limit));
    if (limit && *limit > 0 && *limit - physical_memory() < most) {
      const int64_t used = first_number(cat(folder, files.usage)).value_or(0),
                    cached = first_number(cat(folder, "memory.stat"), files.cache).value_or(0);
      most = std::min(most, std::max<int64_t>(*limit - std::max<int64_t>(used - cached, 0), 0));
    }
    if (group.empty() || group == "/") return most;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

}  // namespace

int64_t free_host_memory(const std::string& root) {
  const HeapLimit no_limit = HeapLimit::none();  // a stream would keep a refusal to itself
  int64_t most = physical_memory();
  if (auto kib = first_number(root + "/proc/meminfo", "MemAvailable:")) most = std::min(most, *kib * 1024);
  // "0::/user.slice" is of version 2, "4:memory:/docker/1f" of version 1. In a container the group may be its root.
  most = free_in_group(root, kVersion2, "", most);
  most = free_in_group(root, kVersion1, "", most);
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) most = free_in_group(root, kVersion2, group, most);
    if (cat(",", controllers, ",").find(",memory,") != std::string::npos)
      most = free_in_group(root, kVersion1, group, most);
  }
  return most;
}

}  // namespace emplace
