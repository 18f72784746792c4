/// ScratchVector: a std::vector for what is made anew in every call. Its memory is kept by the thread for the next one,
/// so that a step asks nothing of the heap once steps like it have run. What is large belongs into
/// KernelContext::allocate_scratch(), which counts it.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace emplace {

/// Blocks that this thread has given back, by size.
class ScratchBlocks {
 public:
  static void* take(size_t bytes);
  /// `bytes`: as given to take(). Any thread may give back what another took.
  static void give_back(void* block, size_t bytes) noexcept;
};

template <class T>
struct ScratchAllocator {
  using value_type = T;
  ScratchAllocator() = default;
  template <class U>
  ScratchAllocator(const ScratchAllocator<U>&) {}  // NOLINT: containers convert between element types
  T* allocate(size_t n) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (n > ~size_t{0} / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(ScratchBlocks::take(n * sizeof(T)));
  }
  void deallocate(T* block, size_t n) noexcept { ScratchBlocks::give_back(block, n * sizeof(T)); }
  template <class U>
  bool operator==(const ScratchAllocator<U>&) const {
    return true;
  }
};

template <class T>
using ScratchVector = std::vector<T, ScratchAllocator<T>>;

}  // namespace emplace
