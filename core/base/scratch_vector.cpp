#include "core/base/scratch_vector.h"

#include <array>
#include <bit>
#include <utility>

namespace emplace {
namespace {

constexpr size_t kSmallest = 32, kLargest = size_t{1} << 20;  // of what is kept
constexpr int kSizes = std::countr_zero(kLargest) - std::countr_zero(kSmallest) + 1;

/// Block sizes are powers of two; 0 is kSmallest.
int index_of(size_t bytes) {
  return bytes <= kSmallest ? 0 : static_cast<int>(std::bit_width(bytes - 1)) - std::countr_zero(kSmallest);
}

struct FreeBlock {
  FreeBlock* next;
};

/// The thread's lists. At its end they are emptied, and what is given back afterwards is not kept.
struct FreeLists {
  std::array<FreeBlock*, kSizes> first{};
  bool ended = false;
};
thread_local FreeLists t_free;

struct AtThreadEnd {
  bool armed = false;
  ~AtThreadEnd() {
    t_free.ended = true;
    for (FreeBlock*& first : t_free.first) {
      while (first) ::operator delete(std::exchange(first, first->next));
    }
  }
};
thread_local AtThreadEnd t_at_thread_end;

}  // namespace

void* ScratchBlocks::take(size_t bytes) {
  if (bytes > kLargest) return ::operator new(bytes);
  const int index = index_of(bytes);
  FreeBlock*& first = t_free.first[static_cast<size_t>(index)];
  if (first) return std::exchange(first, first->next);
  t_at_thread_end.armed = true;
  return ::operator new(kSmallest << index);
}

void ScratchBlocks::give_back(void* block, size_t bytes) noexcept {
  if (bytes > kLargest || t_free.ended) return ::operator delete(block);
  t_at_thread_end.armed = true;  // this thread may never have taken one
  FreeBlock*& first = t_free.first[static_cast<size_t>(index_of(bytes))];
  first = new (block) FreeBlock{first};
}

}  // namespace emplace
