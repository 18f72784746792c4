#include "core/base/host_allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "core/base/cat.h"
#include "core/base/host_memory.h"
#include "core/base/idle_memory.h"
#include "core/base/units.h"

namespace emplace {
namespace {

std::atomic<int64_t> of_entries{0};  // of what is in use: lists and tables, for messages

/// With what the heap itself takes of a block.
int64_t heap_footprint(size_t bytes) {
  constexpr size_t kHead = 8, kUnit = 16, kSmallest = 32;
  return static_cast<int64_t>(bytes + kHead <= kSmallest ? kSmallest : (bytes + kHead + kUnit - 1) / kUnit * kUnit);
}

}  // namespace

OutOfHostMemory::OutOfHostMemory(size_t bytes) {
  const HostMemory& memory = HostMemory::of_process();
  const int64_t more = heap_footprint(bytes), most = memory.limit();
  const int64_t left = std::max<int64_t>(most - memory.in_use(), 0);
  text_ = cat("out of host memory: ", size_text(of_entries + more), " of lists and tables so far, ");
  if (more > left) {
    append(text_, size_text(more - left), " more than the limit of ", size_text(most), " allows");
  } else {
    append(text_, "the system has no more");
  }
  append(text_, "; shorter lists and smaller tables need less");
}

void* take_counted(size_t bytes) {
  HostMemory& memory = HostMemory::of_process();
  if (!memory.try_take(HostUse::kPool, heap_footprint(bytes))) {
    release_kept_memory();
    if (!memory.try_take(HostUse::kPool, heap_footprint(bytes))) throw OutOfHostMemory(bytes);
  }
  of_entries += heap_footprint(bytes);
  void* block = std::malloc(bytes);
  if (block) return block;
  give_back_counted(nullptr, bytes);
  throw OutOfHostMemory(bytes);
}

void give_back_counted(void* block, size_t bytes) noexcept {
  std::free(block);
  of_entries -= heap_footprint(bytes);
  HostMemory::of_process().give_back(HostUse::kPool, heap_footprint(bytes));
}

}  // namespace emplace
