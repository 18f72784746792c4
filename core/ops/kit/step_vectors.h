/// StepVectors: what steps of a chain (core/op/element_step.h) do to a vector of floats, with the bytes that the
/// kernels make one by one. StepInputs: what the chain reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/op/element_step.h"
#include "core/ops/kit/isa.h"

namespace emplace {

// `kBytes`: of a register.
template <int kBytes>
struct StepVectors {
  typedef float V __attribute__((vector_size(kBytes)));
  typedef int32_t Bits __attribute__((vector_size(kBytes)));

  // `first` becomes the sum or the product; of two that are no numbers the first stays, which a compiler takes for a
  // matter of taste. It cannot fuse such a product with a sum, either: each is rounded, as by a kernel of its own.
  template <ElementStep kStep>
  EMPLACE_INLINE static void combine_into(V& first, const V& second) {
    constexpr bool kAdds = kStep == ElementStep::kAdd;
#ifdef __x86_64__
    if constexpr (kAdds)
      __asm__("vaddps %1, %0, %0" : "+v"(first) : "v"(second));
    else
      __asm__("vmulps %1, %0, %0" : "+v"(first) : "v"(second));
#else
    first = kAdds ? first + second : first * second;
#endif
  }

  // `swapped`: v is the second operand.
  template <ElementStep kStep>
  EMPLACE_INLINE static void combine(V& v, const V& operand, bool swapped) {
    if constexpr (kStep == ElementStep::kSubtract) {
      v = swapped ? operand - v : v - operand;
    } else if (swapped) {
      combine_into<kStep>(v, operand);
    } else {
      V other = operand;
      combine_into<kStep>(other, v);
      v = other;
    }
  }

  EMPLACE_INLINE static void relu(V& v) {
    const Bits below = v <= V{};  // none is not
    Bits bits;
    std::memcpy(&bits, &v, sizeof(V));
    bits = below ? Bits{} : bits;
    std::memcpy(&v, &bits, sizeof(V));
  }

  // By bits, as the kernel: denormals stay.
  EMPLACE_INLINE static void relu6(V& v) {
    const V six = V{} + 6.0f;
    Bits bits, most;
    std::memcpy(&bits, &v, sizeof(V));
    std::memcpy(&most, &six, sizeof(V));
    const Bits low = v<V{}, high = v> six;
    bits = low ? Bits{} : high ? most : bits;
    std::memcpy(&v, &bits, sizeof(V));
  }
};

/// Inputs that a step takes besides the number that goes through the chain.
inline int num_operands(ElementStep step, const StepChain::Detail& detail) {
  if (step == ElementStep::kNormalise) return 3;
  const bool takes_two = step == ElementStep::kAdd || step == ElementStep::kSubtract || step == ElementStep::kMultiply;
  return takes_two && !detail.takes_kept ? 1 : 0;
}

/// Where an input's elements are: all behind each other, or (stride 0) a vector of one for all.
struct StepInput {
  const float* at;
  int64_t stride;

  EMPLACE_INLINE StepInput from(int64_t i) const { return {at + stride * i, stride}; }
};

template <int kBytes>
struct StepInputs {
  static constexpr int64_t kLanes = kBytes / sizeof(float);
  StepInput inputs[StepChain::kMostInputs];
  alignas(kBytes) float one_for_all[StepChain::kMostInputs][kLanes];

  EMPLACE_INLINE StepInputs(const void* const* from, const int64_t* strides, int count) {
    for (int k = 0; k < count; ++k) {
      inputs[k] = {static_cast<const float*>(from[k]), strides[k]};
      if (strides[k] != 0) continue;
      std::fill_n(one_for_all[k], kLanes, *inputs[k].at);
      inputs[k].at = one_for_all[k];
    }
  }
};

}  // namespace emplace
