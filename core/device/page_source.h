/// PageSource: where a GPU's pool gets its memory: a range of addresses, and pages behind parts of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/status.h"

namespace emplace {

class PageSource {
 public:
  virtual ~PageSource() = default;
  virtual int64_t page_bytes() const = 0;
  /// Addresses without memory, aligned to a page.
  virtual Result<std::byte*> reserve(int64_t bytes) = 0;
  virtual void release(std::byte* range, int64_t bytes) = 0;
  /// Whole pages. ResourceExhausted: the card has no more.
  virtual Status map(std::byte* at, int64_t bytes) = 0;
  virtual Status unmap(std::byte* at, int64_t bytes) = 0;
  /// Returns when nothing that was enqueued uses the memory any longer.
  virtual Status wait_idle() = 0;
};

}  // namespace emplace
