#include "core/base/heap.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace emplace {

void reserve_heap([[maybe_unused]] size_t bytes) {
#ifdef __GLIBC__
  constexpr int kLargest = 32 << 20;  // glibc allows no larger threshold
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, INT32_MAX);
  // The heap's end moves by as much as is asked for at once; then all of it is free again, and untouched.
  const auto step = static_cast<size_t>(kLargest) / 2;
  mallopt(M_TOP_PAD, static_cast<int>(bytes < INT32_MAX ? bytes : INT32_MAX));
  void* first = std::malloc(step);
  const auto begin = (reinterpret_cast<uintptr_t>(first) + kHugePage - 1) / kHugePage * kHugePage;
  std::free(first);
  mallopt(M_TOP_PAD, static_cast<int>(step));
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));
  if (begin < end && end - begin < 2 * (bytes + step))
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

void keep_heap() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);  // those of threads are cut to 64 MiB and given back piece by piece
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT32_MAX);
#endif
}

void return_what_is_freed() {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TOP_PAD, 128 << 10);  // glibc's own
#endif
}

// Takes nothing of the heap itself: whoever asks may be about to be refused.
int64_t private_memory() {
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return INT64_MAX;
  char text[128];
  const ssize_t length = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  if (length <= 0) return INT64_MAX;
  text[length] = 0;
  char* at = text;
  std::strtoll(at, &at, 10);  // of the address space
  const int64_t resident = std::strtoll(at, &at, 10), of_files = std::strtoll(at, &at, 10);
  return (resident - of_files) * sysconf(_SC_PAGESIZE);
}

void return_free_heap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace emplace
