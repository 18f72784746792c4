#include "tests/unit/run/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> g_allocations{0};

void* counted(void* memory) {
  if (!memory) throw std::bad_alloc();
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

// The other forms of new and delete end in these, also where AddressSanitizer brings its own for what is left out here.
void* operator new(size_t size) { return counted(std::malloc(size ? size : 1)); }
void* operator new(size_t size, std::align_val_t alignment) {
  const auto step = static_cast<size_t>(alignment);
  return counted(std::aligned_alloc(step, (size + step - 1) / step * step));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size ? size : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

int64_t emplace::testing::allocation_count() { return g_allocations; }
