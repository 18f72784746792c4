/// Elementwise kernels over elements that are more than bytes (strings): one call per element, broadcasting included.
#pragma once

#include <array>

#include "core/ops/elementwise.h"

namespace emplace {

template <class F, class T>
class PlainElementwise final : public Kernel {
 public:
  explicit PlainElementwise(const KernelInit&) {}

  Status prepare(KernelContext& c) override {
    std::array<const Shape*, 2> shapes{&c.input(0).shape(), &c.input(1).shape()};
    plan_ = plan_broadcast(shapes, c.output(0).shape());
    return ok_status();
  }

  Status run(KernelContext& c) override {
    if (c.output(0).num_elements() == 0) return ok_status();
    const T* a = c.in<T>(0);
    const T* b = c.in<T>(1);
    auto* y = c.out<decltype(F::apply(*a, *b))>(0);
    const auto& step = plan_.run_strides();
    RunCursor cursor(plan_, 0);
    for (int64_t run = 0; run < plan_.runs(); ++run, cursor.next()) {
      const auto& at = cursor.offsets();
      for (int64_t i = 0; i < plan_.run_length(); ++i) *y++ = F::apply(a[at[0] + i * step[0]], b[at[1] + i * step[1]]);
    }
    return ok_status();
  }

 private:
  BroadcastPlan plan_;
};

template <class F, class T>
Result<std::unique_ptr<Kernel>> plain_elementwise(const KernelInit& init) {
  return make<PlainElementwise<F, T>>(init);
}

}  // namespace emplace
