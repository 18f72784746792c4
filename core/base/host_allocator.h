/// EntryAllocator: for containers that a step fills with as much as it likes, lists and tables: what they take of the
/// heap counts against the limit of host memory, block by block.
#pragma once

#include <cstddef>
#include <new>
#include <string>

namespace emplace {

/// A container asked for more than the limit allows, or the system has. Whoever runs kernels makes a Status of it.
class OutOfHostMemory final : public std::bad_alloc {
 public:
  /// `bytes`: what was asked for.
  explicit OutOfHostMemory(size_t bytes);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// A block of the heap, counted until it is given back. OutOfHostMemory.
void* take_counted(size_t bytes);
void give_back_counted(void* block, size_t bytes) noexcept;

/// Not by operator new: what is counted here is nobody else's to count (core/tensor/text_meter.h).
template <class T>
class EntryAllocator {
 public:
  using value_type = T;
  EntryAllocator() = default;
  template <class U>
  EntryAllocator(const EntryAllocator<U>&) {}  // NOLINT(google-explicit-constructor): a container's own kind

  T* allocate(size_t n) { return static_cast<T*>(take_counted(n * sizeof(T))); }
  void deallocate(T* block, size_t n) noexcept { give_back_counted(block, n * sizeof(T)); }
  bool operator==(const EntryAllocator&) const = default;
};

}  // namespace emplace
