#include "core/run/text_kernel.h"

#include <atomic>
#include <new>

#include "core/tensor/text_meter.h"

namespace emplace {
namespace {

/// Pieces on other threads count for the same meter. An exception of one is thrown again where run() was called.
class MeteredParallel final : public Parallel {
 public:
  MeteredParallel(Parallel& parallel, TextMeter& meter) : parallel_(parallel), meter_(meter) {}
  Mover* mover() override { return parallel_.mover(); }

 private:
  void run_erased(int64_t n, double cost_ns, Body body, const void* closure) override {
    std::atomic<bool> failed{false};
    parallel_.run(n, cost_ns, [&](int64_t begin, int64_t end) {
      const TextMeter::Scope scope(&meter_);
      try {
        if (!failed.load(std::memory_order_relaxed)) body(closure, begin, end);
      } catch (const std::bad_alloc&) {
        failed.store(true, std::memory_order_relaxed);
      }
    });
    if (failed) throw std::bad_alloc();
  }

  Parallel& parallel_;
  TextMeter& meter_;
};

}  // namespace

Status TextKernel::run(KernelContext& c) {
  TextMeter meter;
  for (const Tensor& output : c.outputs_) {
    if (output.dtype() == DType::kString && output.buffer()) meter.add(output.buffer());
  }
  MeteredParallel parallel(*c.parallel_, meter);
  Parallel* const own = std::exchange(c.parallel_, &parallel);
  Status status = meter.run([&] { return run_inside(c); });
  c.parallel_ = own;
  return status;
}

}  // namespace emplace
