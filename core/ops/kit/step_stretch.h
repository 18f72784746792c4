/// Chains that have functions among their steps: a stretch of elements goes through one step after the other.
#pragma once

#include "core/ops/kit/step_vectors.h"

namespace emplace {

/// `kBytes`: of a register.
template <int kBytes>
struct StretchLoop {
  using Of = StepVectors<kBytes>;
  using V = typename Of::V;
  static constexpr int64_t kLanes = kBytes / sizeof(float);
  // What a step hands on stays in the first cache. A function is called for all of them, since its loop takes a while
  // to be at full speed.
  static constexpr int64_t kStretch = 1024;

  // to[i] = f(x[i], more[0][i], ...) of `n` elements.
  template <int kMore, class F>
  EMPLACE_INLINE static void each(const StepInput& x, const StepInput* more, int64_t n, float* to, F f) {
    const float* at[kMore + 1] = {x.at};
    int64_t step[kMore + 1] = {x.stride * kLanes};
    for (int k = 0; k < kMore; ++k) {
      at[k + 1] = more[k].at;
      step[k + 1] = more[k].stride * kLanes;
    }
    V v[kMore + 1];
#pragma GCC unroll 4
    for (; n >= kLanes; n -= kLanes, to += kLanes) {
#pragma GCC unroll 4
      for (int k = 0; k <= kMore; ++k) {
        std::memcpy(&v[k], at[k], sizeof(V));
        at[k] += step[k];
      }
      f(v);
      std::memcpy(to, &v[0], sizeof(V));
    }
    if (n == 0) return;
    const auto left = static_cast<size_t>(n) * sizeof(float);
    for (int k = 0; k <= kMore; ++k) {
      v[k] = V{};
      std::memcpy(&v[k], at[k], left);
    }
    f(v);
    std::memcpy(to, &v[0], left);
  }

  template <ElementStep kStep>
  EMPLACE_INLINE static void combine(const StepInput& x, const StepInput& operand, bool swapped, int64_t n, float* to) {
    if (swapped)
      each<1>(
          x, &operand, n, to,
          [](V * v) __attribute__((always_inline)) { Of::template combine<kStep>(v[0], v[1], true); });
    else
      each<1>(
          x, &operand, n, to,
          [](V * v) __attribute__((always_inline)) { Of::template combine<kStep>(v[0], v[1], false); });
  }

  // One step of `n` elements; `operands`: those that it takes.
  EMPLACE_INLINE static void run(StepChain::Step step, const StepChain::Detail& detail, const StepInput& x,
                                 const StepInput* operands, int64_t n, float* to) {
    switch (step.step) {
      case ElementStep::kAdd:
        return combine<ElementStep::kAdd>(x, *operands, step.swapped, n, to);
      case ElementStep::kSubtract:
        return combine<ElementStep::kSubtract>(x, *operands, step.swapped, n, to);
      case ElementStep::kMultiply:
        return combine<ElementStep::kMultiply>(x, *operands, step.swapped, n, to);
      case ElementStep::kNormalise:
        return each<3>(
            x, operands, n, to, [](V * v) __attribute__((always_inline)) { v[0] = (v[0] - v[1]) * v[2] + v[3]; });
      case ElementStep::kRelu:
        return each<0>(
            x, nullptr, n, to, [](V * v) __attribute__((always_inline)) { Of::relu(v[0]); });
      case ElementStep::kRelu6:
        return each<0>(
            x, nullptr, n, to, [](V * v) __attribute__((always_inline)) { Of::relu6(v[0]); });
      case ElementStep::kNone: {
        const void* from = x.at;
        return detail.function(&from, &x.stride, to, n, detail.params);
      }
    }
  }

  // Elements `begin` to `begin` + n.
  EMPLACE_INLINE static void run_stretch(const StepChain& chain, const StepInputs<kBytes>& read, int64_t begin,
                                         int64_t n, float* out) {
    alignas(kBytes) float numbers[2][kStretch];
    StepInput x = read.inputs[0].from(begin), kept = x;
    const StepInput* operand = read.inputs + 1;
    int at = 0;  // which of `numbers` the next step may write
    for (int k = 0; k < chain.count; ++k) {
      const auto number = static_cast<size_t>(k);
      const StepChain::Detail& detail = chain.details[number];
      if (detail.keeps) {
        kept = x;
        if (x.at == numbers[at]) at = 1 - at;
      }
      StepInput operands[3];
      const int count = num_operands(chain.steps[number].step, detail);
      for (int j = 0; j < count; ++j) operands[j] = (operand++)->from(begin);
      if (detail.takes_kept) operands[0] = kept;
      float* to = k + 1 == chain.count ? out + begin : numbers[at];
      run(chain.steps[number], detail, x, operands, n, to);
      x = {to, 1};
    }
  }

  EMPLACE_INLINE static void run(const StepChain& chain, const StepInputs<kBytes>& read, int64_t n, float* out) {
    for (int64_t i = 0; i < n; i += kStretch) run_stretch(chain, read, i, std::min(n - i, kStretch), out);
  }
};

}  // namespace emplace
