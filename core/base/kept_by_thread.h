/// KeptByThread: an object that each thread makes at its first use and keeps to its end. A thread_local object with a
/// destructor would do, but for memory that has run out: the C library takes some for each destructor that it is to
/// call, and where there is none it ends the process. This takes none besides the object's own.
#pragma once

#include <cstddef>
#include <new>

namespace emplace {

/// What is called when a thread ends; a part of a thread_local object, which outlives the call.
struct ThreadEndCall {
  void (*call)(ThreadEndCall& self) noexcept = nullptr;
  ThreadEndCall* next = nullptr;  // of at_thread_end()
};

/// Calls `last` when this thread ends, the latest given first. Neither throws nor takes memory. The process's end calls
/// nothing.
void at_thread_end(ThreadEndCall& last) noexcept;

/// To be declared `static constinit thread_local`.
template <class T>
class KeptByThread : ThreadEndCall {
 public:
  constexpr KeptByThread() = default;

  T& get() {
    if (!call) make();
    return *object();
  }

 private:
  T* object() { return std::launder(reinterpret_cast<T*>(bytes_)); }
  void make() {
    new (bytes_) T();
    call = [](ThreadEndCall& self) noexcept {
      static_cast<KeptByThread&>(self).object()->~T();
      self.call = nullptr;
    };
    at_thread_end(*this);
  }

  alignas(T) std::byte bytes_[sizeof(T)]{};
};

}  // namespace emplace
