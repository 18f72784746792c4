#include "core/base/scratch_vector.h"

#include <array>
#include <bit>
#include <utility>

#include "core/base/host_allocator.h"
#include "core/base/kept_by_thread.h"

namespace emplace {
namespace {

constexpr size_t kSmallest = 32, kLargest = size_t{1} << 20;  // of what is kept
constexpr size_t kMostScratch = size_t{16} << 20;  // that a thread keeps: more is a table of millions, not a usual step
constexpr int kSizes = std::countr_zero(kLargest) - std::countr_zero(kSmallest) + 1;

/// Block sizes are powers of two; 0 is kSmallest.
int index_of(size_t bytes) {
  return bytes <= kSmallest ? 0 : static_cast<int>(std::bit_width(bytes - 1)) - std::countr_zero(kSmallest);
}

struct FreeBlock {
  FreeBlock* next;
};

/// The thread's lists. At its end they are emptied, and what is given back afterwards is not kept.
struct FreeLists : ThreadEndCall {
  std::array<FreeBlock*, kSizes> first{};
  size_t bytes = 0;
  bool ended = false;

  // A thread may only take, or only give back.
  void empty_at_thread_end() {
    if (call) return;
    call = end;
    at_thread_end(*this);
  }
  static void end(ThreadEndCall& self) noexcept {
    auto& lists = static_cast<FreeLists&>(self);
    lists.ended = true;
    for (size_t i = 0; i < lists.first.size(); ++i) {
      FreeBlock*& first = lists.first[i];
      while (first) give_back_counted(std::exchange(first, first->next), kSmallest << i);
    }
  }
};
constinit thread_local FreeLists t_free;

}  // namespace

// Kept blocks stay counted: they are the process's.
void* ScratchBlocks::take(size_t bytes) {
  if (bytes > kLargest) return take_counted(bytes);
  const int index = index_of(bytes);
  FreeBlock*& first = t_free.first[static_cast<size_t>(index)];
  if (first) {
    t_free.bytes -= kSmallest << index;
    return std::exchange(first, first->next);
  }
  t_free.empty_at_thread_end();
  return take_counted(kSmallest << index);
}

void ScratchBlocks::give_back(void* block, size_t bytes) noexcept {
  if (bytes > kLargest) return give_back_counted(block, bytes);
  const int index = index_of(bytes);
  const size_t size = kSmallest << index;
  if (t_free.ended || t_free.bytes + size > kMostScratch) return give_back_counted(block, size);
  t_free.empty_at_thread_end();
  t_free.bytes += size;
  FreeBlock*& first = t_free.first[static_cast<size_t>(index)];
  first = new (block) FreeBlock{first};
}

}  // namespace emplace
