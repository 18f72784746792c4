#include "core/ops/kit/step_chain.h"

#include <algorithm>
#include <cstring>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/step_vectors.h"

namespace emplace {
namespace {

// Vectors that go through the steps together: their operations overlap, and a step is looked at once for all of them.
constexpr int kVectors = 8, kFewVectors = 4;

// `kBytes`: of a register.
template <int kBytes>
struct ChainLoop {
  using Of = StepVectors<kBytes>;
  using V = typename Of::V;
  static constexpr int64_t kLanes = kBytes / sizeof(float);

  /// Where an input's elements are; one for all is written out for a vector.
  struct Input {
    const float* at;
    int64_t stride;
  };
  Input inputs[StepChain::kMostInputs];
  alignas(kBytes) float one_for_all[StepChain::kMostInputs][kLanes];

  EMPLACE_INLINE void take_inputs(const void* const* from, const int64_t* strides, int count) {
    for (int k = 0; k < count; ++k) {
      inputs[k] = {static_cast<const float*>(from[k]), strides[k]};
      if (strides[k] != 0) continue;
      std::fill_n(one_for_all[k], kLanes, *inputs[k].at);
      inputs[k].at = one_for_all[k];
    }
  }

  // Element i and those behind it; of the last ones only as many as there are.
  template <bool kWhole>
  EMPLACE_INLINE void load(const Input& in, int64_t i, int64_t n, V& to) const {
    if constexpr (kWhole) {
      std::memcpy(&to, in.at + (in.stride ? i : 0), sizeof(V));
    } else {
      to = V{};
      std::memcpy(&to, in.at + (in.stride ? i : 0), static_cast<size_t>(n - i) * sizeof(float));
    }
  }

  /// The other operand: what was kept, else the next input.
  template <ElementStep kStep, int kCount, bool kWhole>
  EMPLACE_INLINE void combine(bool swapped, bool takes_kept, const Input*& operand, int64_t i, int64_t n, const V* kept,
                              V* v) const {
    if (takes_kept) {
#pragma GCC unroll 8
      for (int j = 0; j < kCount; ++j) Of::template combine<kStep>(v[j], kept[j], swapped);
      return;
    }
#pragma GCC unroll 8
    for (int j = 0; j < kCount; ++j) {
      V other;
      load<kWhole>(*operand, i + j * kLanes, n, other);
      Of::template combine<kStep>(v[j], other, swapped);
    }
    ++operand;
  }

  template <int kCount>
  EMPLACE_INLINE static void call(const StepChain::Detail& step, V* v) {
    alignas(kBytes) float numbers[kCount * kLanes];
    std::memcpy(numbers, v, sizeof(numbers));
    const void* from = numbers;
    const int64_t stride = 1;
    step.function(&from, &stride, numbers, kCount * kLanes, step.params);
    std::memcpy(v, numbers, sizeof(numbers));
  }

  template <int kCount, bool kWhole>
  EMPLACE_INLINE void normalise(const Input* operands, int64_t i, int64_t n, V* v) const {
#pragma GCC unroll 8
    for (int j = 0; j < kCount; ++j) {
      V mean, slope, offset;
      load<kWhole>(operands[0], i + j * kLanes, n, mean);
      load<kWhole>(operands[1], i + j * kLanes, n, slope);
      load<kWhole>(operands[2], i + j * kLanes, n, offset);
      v[j] = (v[j] - mean) * slope + offset;
    }
  }

  template <int kCount, bool kWhole>
  EMPLACE_INLINE void run(const StepChain& chain, int64_t i, int64_t n, float* out) const {
    V v[kCount], kept[kCount] = {};
#pragma GCC unroll 8
    for (int j = 0; j < kCount; ++j) load<kWhole>(inputs[0], i + j * kLanes, n, v[j]);
    const Input* operand = inputs + 1;
    for (int k = 0; k < chain.count; ++k) {
      const auto [step, swapped] = chain.steps[static_cast<size_t>(k)];
      const StepChain::Detail& detail = chain.details[static_cast<size_t>(k)];
      if (detail.keeps) std::memcpy(kept, v, sizeof(kept));
      switch (step) {
        case ElementStep::kAdd:
          combine<ElementStep::kAdd, kCount, kWhole>(swapped, detail.takes_kept, operand, i, n, kept, v);
          break;
        case ElementStep::kSubtract:
          combine<ElementStep::kSubtract, kCount, kWhole>(swapped, detail.takes_kept, operand, i, n, kept, v);
          break;
        case ElementStep::kMultiply:
          combine<ElementStep::kMultiply, kCount, kWhole>(swapped, detail.takes_kept, operand, i, n, kept, v);
          break;
        case ElementStep::kNormalise:
          normalise<kCount, kWhole>(operand, i, n, v);
          operand += 3;
          break;
        case ElementStep::kRelu:
#pragma GCC unroll 8
          for (int j = 0; j < kCount; ++j) Of::relu(v[j]);
          break;
        case ElementStep::kRelu6:
#pragma GCC unroll 8
          for (int j = 0; j < kCount; ++j) Of::relu6(v[j]);
          break;
        case ElementStep::kNone:
          call<kCount>(detail, v);
          break;
      }
    }
#pragma GCC unroll 8
    for (int j = 0; j < kCount; ++j)
      std::memcpy(out + i + j * kLanes, &v[j], kWhole ? sizeof(V) : static_cast<size_t>(n - i) * sizeof(float));
  }
};

int num_inputs(const StepChain& chain) {
  int count = 1;
  for (int k = 0; k < chain.count; ++k) {
    const ElementStep step = chain.steps[static_cast<size_t>(k)].step;
    if (step == ElementStep::kNormalise) count += 3;
    if (chain.details[static_cast<size_t>(k)].takes_kept) continue;
    if (step == ElementStep::kAdd || step == ElementStep::kSubtract || step == ElementStep::kMultiply) ++count;
  }
  return count;
}

template <int kBytes>
EMPLACE_INLINE void chain_body(const void* const* in, const int64_t* strides, void* out, int64_t n,
                               const StepChain& chain, int inputs) {
  using Loop = ChainLoop<kBytes>;
  Loop loop;
  loop.take_inputs(in, strides, inputs);
  auto* to = static_cast<float*>(out);
  int64_t i = 0;
  for (; i + kVectors * Loop::kLanes <= n; i += kVectors * Loop::kLanes)
    loop.template run<kVectors, true>(chain, i, n, to);
  for (; i + kFewVectors * Loop::kLanes <= n; i += kFewVectors * Loop::kLanes)
    loop.template run<kFewVectors, true>(chain, i, n, to);
  for (; i + Loop::kLanes <= n; i += Loop::kLanes) loop.template run<1, true>(chain, i, n, to);
  if (i < n) loop.template run<1, false>(chain, i, n, to);
}

EMPLACE_TARGET_V3 void chain_v3(const void* const* in, const int64_t* strides, void* out, int64_t n,
                                const void* params) {
  const auto& chain = *static_cast<const StepChain*>(params);
  chain_body<32>(in, strides, out, n, chain, num_inputs(chain));
}
EMPLACE_TARGET_V4 void chain_v4(const void* const* in, const int64_t* strides, void* out, int64_t n,
                                const void* params) {
  const auto& chain = *static_cast<const StepChain*>(params);
  chain_body<64>(in, strides, out, n, chain, num_inputs(chain));
}

}  // namespace

Tile::Function step_chain_code() { return for_isa<Tile::Function>(nullptr, chain_v3, chain_v4); }

}  // namespace emplace
