/// Memory that nobody uses and that the process still has: of the heap, and what others keep to use again. Where the
/// limit of host memory is near it goes back to the system, so that what the process has stays below the limit, too.
#pragma once

#include <cstdint>
#include <functional>

namespace emplace {

/// So many bytes were given back: the heap may have kept them, and each of its arenas for itself.
void note_idle(int64_t bytes);

/// The process uses `in_use` bytes and may have no more than `limit`: if both that and what was noted could be more,
/// the heap returns to the system what is free in it. Thread-safe; an addition where there is enough.
void trim_idle(int64_t in_use, int64_t limit);

/// Somebody who keeps memory to use it again.
class IdleKeeper {
 public:
  /// `release` gives back what nobody uses. Any thread may call it, until this is gone.
  explicit IdleKeeper(std::function<void()> release);
  ~IdleKeeper();
  IdleKeeper(const IdleKeeper&) = delete;
  IdleKeeper& operator=(const IdleKeeper&) = delete;

 private:
  std::function<void()> release_;
  friend void release_kept_memory();
};

/// Has all keepers release. The caller holds no lock that one of them needs.
void release_kept_memory();

}  // namespace emplace
