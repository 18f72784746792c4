/// TextMeter: counts what the texts of code take of the heap where nobody knows it beforehand: against the limit of
/// host memory, piece by piece while the code runs, and then with the tensors of strings that hold them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/base/host_allocator.h"
#include "core/base/host_memory.h"
#include "core/base/status.h"

namespace emplace {

class Buffer;

/// It sees the heap only in a program whose operator new asks it (cli/operator_new.cpp); elsewhere texts are counted
/// when they are made. Thread-safe but for run().
class TextMeter {
 public:
  /// Calls `make` on this thread. ResourceExhausted: the limit, or the system, had no more; else its Status.
  template <class F>
  Status run(const F& make) {
    Status status;
    try {
      const Scope scope(this);
      status = make();
    } catch (const OutOfHostMemory& lists) {  // which are not counted here
      status = resource_exhausted(lists.what());
    } catch (const std::bad_alloc&) {
      return refused();
    }
    return settle(std::move(status));
  }

  /// What the thread takes counts for `meter` until the end of the scope; null: for none.
  class Scope {
   public:
    explicit Scope(TextMeter* meter) : before_(std::exchange(current_, meter)) {}
    ~Scope() { current_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    TextMeter* before_;
  };
  static TextMeter* of_thread() { return current_; }

  /// So many bytes are about to be taken of the heap. std::bad_alloc: more than allowed.
  void take(size_t bytes);
  void give_back(size_t bytes) { net_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed); }
  /// A tensor of strings was made, whose texts are counted with it when run() ends.
  void add(std::weak_ptr<Buffer> strings);

  /// What a block of so many bytes takes of the heap.
  static size_t footprint(size_t bytes) {
    constexpr size_t kHead = 8, kUnit = 16, kLeast = 32;
    return bytes + kHead <= kLeast ? kLeast : (bytes + kHead + kUnit - 1) / kUnit * kUnit;
  }

 private:
  Status refused();
  Status settle(Status status);

  static constinit thread_local TextMeter* current_;
  std::atomic<int64_t> net_{0}, taken_{0};
  std::mutex mutex_;
  // Guarded by mutex_.
  HostShare share_{HostUseScope::current()};  // of taken_
  std::vector<std::weak_ptr<Buffer>> made_;
  std::string why_;
};

}  // namespace emplace
