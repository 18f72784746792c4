/// Parallel: "call this for pieces of a range". The thread pool of core/run implements it; tests and tools use the
/// sequential one here.
#pragma once

#include <cstdint>
#include <type_traits>

namespace emplace {

class Mover;

class Parallel {
 public:
  virtual ~Parallel() = default;

  /// What copies and fills, where the memory is not the host's; else null.
  virtual Mover* mover() { return nullptr; }

  /// Calls body(begin, end) for consecutive pieces of [0, n) and returns when all are done. `cost_ns` is the rough
  /// cost of one item; work too small to share runs in one piece on the caller. Which pieces there are depends on n
  /// and cost_ns only, never on the number of threads.
  template <class F>
  void run(int64_t n, double cost_ns, const F& body) {
    run_erased(
        n, cost_ns, [](const void* f, int64_t b, int64_t e) { (*static_cast<const F*>(f))(b, e); }, &body);
  }

 protected:
  using Body = void (*)(const void* closure, int64_t begin, int64_t end);
  virtual void run_erased(int64_t n, double cost_ns, Body body, const void* closure) = 0;
};

/// Everything in one piece on the calling thread.
class Sequential final : public Parallel {
 protected:
  void run_erased(int64_t n, double, Body body, const void* closure) override {
    if (n > 0) body(closure, 0, n);
  }
};

}  // namespace emplace
