#include "core/ops/kit/step_chain.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/ops/kit/isa.h"
#include "core/ops/kit/step_stretch.h"
#include "core/ops/kit/step_vectors.h"

namespace emplace {
namespace {

// Vectors that go through the steps together: their operations overlap, and a step is looked at once for all of them.
constexpr int kVectors = 8, kFewVectors = 4;

// Calls f(0) to f(kCount - 1): numbers that the compiler knows early enough to keep an array in registers.
template <int kCount, class F>
EMPLACE_INLINE void each(const F& f) {
  [&]<int... j>(std::integer_sequence<int, j...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, j>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

// `kBytes`: of a register.
template <int kBytes>
struct RegisterLoop {
  using Of = StepVectors<kBytes>;
  using V = typename Of::V;
  static constexpr int64_t kLanes = kBytes / sizeof(float);

  const StepInputs<kBytes>& read;

  // Element i and those behind it; of the last ones only as many as there are.
  template <bool kWhole>
  EMPLACE_INLINE void load(const StepInput& in, int64_t i, int64_t n, V& to) const {
    if constexpr (kWhole) {
      std::memcpy(&to, in.at + (in.stride ? i : 0), sizeof(V));
    } else {
      to = V{};
      std::memcpy(&to, in.at + (in.stride ? i : 0), static_cast<size_t>(n - i) * sizeof(float));
    }
  }

  /// The other operand: what was kept, else the next input.
  template <ElementStep kStep, int kCount, bool kWhole>
  EMPLACE_INLINE void combine(bool swapped, bool takes_kept, const StepInput*& operand, int64_t i, int64_t n,
                              const V* kept, V* v) const {
    if (takes_kept) {
      each<kCount>([&](auto j) __attribute__((always_inline)) { Of::template combine<kStep>(v[j], kept[j], swapped); });
      return;
    }
    each<kCount>([&](auto j) __attribute__((always_inline)) {
      V other;
      load<kWhole>(*operand, i + j * kLanes, n, other);
      Of::template combine<kStep>(v[j], other, swapped);
    });
    ++operand;
  }

  template <int kCount, bool kWhole>
  EMPLACE_INLINE void normalise(const StepInput* operands, int64_t i, int64_t n, V* v) const {
    each<kCount>([&](auto j) __attribute__((always_inline)) {
      V mean, slope, offset;
      load<kWhole>(operands[0], i + j * kLanes, n, mean);
      load<kWhole>(operands[1], i + j * kLanes, n, slope);
      load<kWhole>(operands[2], i + j * kLanes, n, offset);
      v[j] = (v[j] - mean) * slope + offset;
    });
  }

  template <int kCount, bool kWhole>
  EMPLACE_INLINE void run(const StepChain& chain, int64_t i, int64_t n, float* out) const {
    V v[kCount], kept[kCount] = {};
    each<kCount>([&](auto j) __attribute__((always_inline)) { load<kWhole>(read.inputs[0], i + j * kLanes, n, v[j]); });
    const StepInput* operand = read.inputs + 1;
    for (int k = 0; k < chain.count; ++k) {
      const auto [step, swapped] = chain.steps[static_cast<size_t>(k)];
      const StepChain::Detail& detail = chain.details[static_cast<size_t>(k)];
      if (detail.keeps) each<kCount>([&](auto j) __attribute__((always_inline)) { kept[j] = v[j]; });
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
          each<kCount>([&](auto j) __attribute__((always_inline)) { Of::relu(v[j]); });
          break;
        case ElementStep::kRelu6:
          each<kCount>([&](auto j) __attribute__((always_inline)) { Of::relu6(v[j]); });
          break;
        case ElementStep::kNone:
          break;  // a function: StretchLoop
      }
    }
    each<kCount>([&](auto j) __attribute__((always_inline)) {
      V one = v[j];
      std::memcpy(out + i + j * kLanes, &one, kWhole ? sizeof(V) : static_cast<size_t>(n - i) * sizeof(float));
    });
  }
};

template <int kBytes>
EMPLACE_INLINE void run_in_registers(const StepChain& chain, const StepInputs<kBytes>& read, int64_t n, float* to) {
  using Loop = RegisterLoop<kBytes>;
  const Loop loop{read};
  int64_t i = 0;
  for (; i + kVectors * Loop::kLanes <= n; i += kVectors * Loop::kLanes)
    loop.template run<kVectors, true>(chain, i, n, to);
  for (; i + kFewVectors * Loop::kLanes <= n; i += kFewVectors * Loop::kLanes)
    loop.template run<kFewVectors, true>(chain, i, n, to);
  for (; i + Loop::kLanes <= n; i += Loop::kLanes) loop.template run<1, true>(chain, i, n, to);
  if (i < n) loop.template run<1, false>(chain, i, n, to);
}

int num_inputs(const StepChain& chain) {
  int count = 1;
  for (size_t k = 0; k < static_cast<size_t>(chain.count); ++k)
    count += num_operands(chain.steps[k].step, chain.details[k]);
  return count;
}

template <int kBytes>
EMPLACE_INLINE void chain_body(const void* const* in, const int64_t* strides, void* out, int64_t n,
                               const StepChain& chain, int inputs) {
  const StepInputs<kBytes> read(in, strides, inputs);
  if (has_function(chain))
    StretchLoop<kBytes>::run(chain, read, n, static_cast<float*>(out));
  else
    run_in_registers(chain, read, n, static_cast<float*>(out));
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
