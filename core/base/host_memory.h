/// HostMemory: what this process holds of the machine's memory, against a limit. Whoever is about to take much of it
/// asks first, and says what for; what is refused was not taken.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/status.h"

namespace emplace {

/// What memory is for, as messages say it.
enum class HostUse : uint8_t { kGraph, kConstants, kFeeds, kData, kPlanned, kPool };

/// Thread-safe: a few atomic numbers.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// The one that everything in this process asks: memory is the process's, whoever takes it.
  static HostMemory& of_process();

  /// In bytes; 0: what the machine had free when first asked, less a margin.
  void set_limit(int64_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  int64_t limit() const;
  int64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  int64_t in_use(HostUse use) const { return uses_[static_cast<size_t>(use)].load(std::memory_order_relaxed); }

  /// By what comes before the run: graph, constants, feeds, data.
  int64_t in_use_by_input() const;

  /// ResourceExhausted, with refusal()'s text, if so many bytes more would be over the limit.
  Status take(HostUse use, int64_t bytes);
  /// The same where nobody reads a text.
  bool try_take(HostUse use, int64_t bytes);
  void give_back(HostUse use, int64_t bytes);

  /// What was asked for, what is free, how much is missing, what holds the rest, and what would help.
  std::string refusal(HostUse use, int64_t bytes) const;

 private:
  std::atomic<int64_t> limit_{0};
  std::atomic<int64_t> in_use_{0};
  std::array<std::atomic<int64_t>, 6> uses_{};
};

/// A share of the process's host memory, given back at the end.
class HostShare {
 public:
  explicit HostShare(HostUse use) : use_(use) {}
  HostShare(HostShare&& other) noexcept : use_(other.use_), bytes_(std::exchange(other.bytes_, 0)) {}
  HostShare& operator=(HostShare&& other) noexcept {
    std::swap(use_, other.use_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostShare() { HostMemory::of_process().give_back(use_, bytes_); }

  int64_t bytes() const { return bytes_; }
  /// Takes or gives back the difference.
  Status resize(int64_t bytes);

 private:
  HostUse use_;
  int64_t bytes_ = 0;
};

/// What the tensors that this thread allocates on the heap are for, until the end of the scope; else kPool.
class HostUseScope {
 public:
  explicit HostUseScope(HostUse use) : before_(std::exchange(current_, use)) {}
  ~HostUseScope() { current_ = before_; }
  HostUseScope(const HostUseScope&) = delete;
  HostUseScope& operator=(const HostUseScope&) = delete;
  static HostUse current() { return current_; }

 private:
  static thread_local HostUse current_;
  HostUse before_;
};

/// What this machine, and the control group that the process is in, have free, in bytes. `root`: where /proc and
/// /sys/fs/cgroup are looked for.
int64_t free_host_memory(const std::string& root = {});

}  // namespace emplace
