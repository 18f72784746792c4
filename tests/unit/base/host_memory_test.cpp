#include "core/base/host_memory.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace emplace {
namespace {

/// A folder with files, as Linux would show them.
struct FakeRoot {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("emplace_root_" + std::to_string(std::rand()));
  ~FakeRoot() { std::filesystem::remove_all(path); }
  void put(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
};

}  // namespace

TEST_CASE("host memory: what is over the limit is refused, and not counted") {
  HostMemory memory;
  memory.set_limit(1000);
  REQUIRE(memory.take(HostUse::kData, 600).ok());
  const Status refused = memory.take(HostUse::kPlanned, 500);
  CHECK(refused.code() == Code::kResourceExhausted);
  CHECK(refused.message().find("asked for 500 B for planned tensors, 400 B free of 1000 B: 100 B short") !=
        std::string::npos);
  CHECK(refused.message().find("held: data 600 B") != std::string::npos);
  CHECK(refused.message().find("--host-memory-limit 1MiB allows it") != std::string::npos);
  CHECK(memory.in_use() == 600);
  CHECK(memory.take(HostUse::kPlanned, 400).ok());
  CHECK_FALSE(memory.try_take(HostUse::kPool, 1));
  memory.give_back(HostUse::kData, 600);
  CHECK(memory.in_use() == 400);
  CHECK_FALSE(memory.try_take(HostUse::kPool, INT64_MAX));
}

TEST_CASE("host memory: threads together never take more than the limit") {
  HostMemory memory;
  memory.set_limit(1000);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) taken += memory.try_take(HostUse::kPool, 7);
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(taken == 1000 / 7);
  CHECK(memory.in_use() == taken * 7);
}

TEST_CASE("host memory: a share is given back at its end, and when it is moved only once") {
  HostMemory& memory = HostMemory::of_process();
  const int64_t before = memory.in_use(HostUse::kFeeds);
  {
    HostShare share(HostUse::kFeeds);
    REQUIRE(share.resize(100).ok());
    HostShare moved = std::move(share);
    REQUIRE(moved.resize(40).ok());
    CHECK(memory.in_use(HostUse::kFeeds) == before + 40);
  }
  CHECK(memory.in_use(HostUse::kFeeds) == before);
}

TEST_CASE("free host memory: of the machine, of control groups of either version, and of those around them") {
  FakeRoot root;
  root.put("proc/meminfo", "MemTotal:  900 kB\nMemFree: 10 kB\nMemAvailable:  500 kB\n");
  CHECK(free_host_memory(root.path) == 500 * 1024);
  root.put("proc/self/cgroup", "0::/a/b\n");
  root.put("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.put("sys/fs/cgroup/a/memory.max", "300000\n");
  root.put("sys/fs/cgroup/a/memory.current", "120000\n");
  root.put("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 20000\n");
  CHECK(free_host_memory(root.path) == 200000);
  root.put("sys/fs/cgroup/memory.max", "150000\n");  // as a container sees its own
  CHECK(free_host_memory(root.path) == 150000);

  FakeRoot old;
  old.put("proc/meminfo", "MemAvailable:  500 kB\n");
  old.put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1f\n");
  old.put("sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "100000\n");
  old.put("sys/fs/cgroup/memory/docker/1f/memory.usage_in_bytes", "99000\n");
  CHECK(free_host_memory(old.path) == 1000);
  old.put("sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(free_host_memory(old.path) == 500 * 1024);
}

}  // namespace emplace
