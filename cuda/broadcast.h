/// Broadcasting as kernels need it: dimensions merged as far as all operands allow, with a stride (in elements, 0 where
/// an operand is repeated) per operand, innermost dimension first.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/shape.h"
#include "cuda/launch.h"

namespace emplace::cuda {

inline constexpr int kMaxBroadcastDims = 8;

/// Division by a number that is known before the launch. Exact for dividends below 2^31.
struct FastDivisor {
  uint32_t divisor = 1, multiplier = 0, shift = 0;

  FastDivisor() = default;
  explicit FastDivisor(uint32_t d) : divisor(d) {
    while ((uint64_t{1} << shift) < d) ++shift;
    multiplier = static_cast<uint32_t>((((uint64_t{1} << 32) * ((uint64_t{1} << shift) - d)) / d) + 1);
  }
  __device__ __forceinline__ uint32_t divide(uint32_t n) const { return (__umulhi(n, multiplier) + n) >> shift; }
};

/// The same for any dividends below `limit`: exact, and without a division where the limit is at most 2^31.
struct IndexDivisor {
  int64_t divisor = 1;
  FastDivisor fast;
  bool is_fast = true;

  IndexDivisor() = default;
  IndexDivisor(int64_t d, int64_t limit) : divisor(d) {
    constexpr int64_t kLargest = int64_t{1} << 31;
    is_fast = limit <= kLargest && d < kLargest;
    if (is_fast) fast = FastDivisor(static_cast<uint32_t>(d > 0 ? d : 1));
  }
  __device__ __forceinline__ int64_t divide(int64_t n) const {
    return is_fast ? fast.divide(static_cast<uint32_t>(n)) : n / divisor;
  }
  /// n becomes the quotient; the rest is returned.
  __device__ __forceinline__ int64_t split(int64_t& n) const {
    const int64_t quotient = divide(n), rest = n - quotient * divisor;
    n = quotient;
    return rest;
  }
};

template <int kOperands>
struct Broadcast {
  int dims = 0;
  int64_t elements = 1;  // of the result
  int64_t size[kMaxBroadcastDims] = {};
  int64_t stride[kOperands][kMaxBroadcastDims] = {};
  FastDivisor divisor[kMaxBroadcastDims];  // of size[], where elements < 2^31

  /// Where every operand's element for the result's element `i` lies.
  struct Offsets {
    int64_t at[kOperands];
  };
  __device__ __forceinline__ Offsets offsets(int64_t i) const {
    Offsets out{};
    const bool small = elements < (int64_t{1} << 31);
    for (int d = 0; d < dims; ++d) {
      const int64_t next = small ? divisor[d].divide(static_cast<uint32_t>(i)) : i / size[d];
      const int64_t index = i - next * size[d];
      for (int k = 0; k < kOperands; ++k) out.at[k] += index * stride[k][d];
      i = next;
    }
    return out;
  }

  /// Makes it a plan of packs of n elements, each beginning at a multiple of n in every operand that has them side by
  /// side. False, and nothing changes: they are not whole.
  bool pack(int64_t n) {
    if (n == 1 || dims == 0 || size[0] % n != 0) return false;
    for (int k = 0; k < kOperands; ++k) {
      for (int d = 1; d < dims; ++d) {
        if (stride[k][0] != 0 && stride[k][d] % n != 0) return false;
      }
    }
    size[0] /= n;
    elements /= n;
    for (int k = 0; k < kOperands; ++k) stride[k][0] *= n;
    set_divisors();
    return true;
  }
  void set_divisors() {
    for (int d = 0; d < dims; ++d) {
      if (size[d] > 0 && size[d] < (int64_t{1} << 31)) divisor[d] = FastDivisor(static_cast<uint32_t>(size[d]));
    }
  }

  /// Does operand k lie as the result does? Is it one element?
  bool flat(int k) const { return dims == 0 || (dims == 1 && stride[k][0] == 1); }
  bool single(int k) const {
    for (int d = 0; d < dims; ++d) {
      if (stride[k][d] != 0) return false;
    }
    return true;
  }
};

/// Unimplemented where more than kMaxBroadcastDims dimensions remain. REQUIRES: the shapes broadcast to `out`.
template <int kOperands>
Result<Broadcast<kOperands>> plan_broadcast(const std::array<const Shape*, kOperands>& inputs, const Shape& out) {
  Broadcast<kOperands> plan;
  plan.elements = out.num_elements();
  std::array<int64_t, kOperands> step;
  step.fill(1);
  for (int back = 1; back <= out.rank(); ++back) {
    const int64_t size = out.dim_from_end(back);
    std::array<int64_t, kOperands> stride{};
    for (int k = 0; k < kOperands; ++k) {
      const Shape& shape = *inputs[static_cast<size_t>(k)];
      const int64_t own = back <= shape.rank() ? shape.dim_from_end(back) : 1;
      stride[static_cast<size_t>(k)] = own == 1 ? 0 : step[static_cast<size_t>(k)];
      step[static_cast<size_t>(k)] *= own;
    }
    if (size == 1) continue;
    bool merges = plan.dims > 0;
    for (int k = 0; k < kOperands && merges; ++k) {
      merges = stride[static_cast<size_t>(k)] == plan.stride[k][plan.dims - 1] * plan.size[plan.dims - 1];
    }
    if (merges) {
      plan.size[plan.dims - 1] *= size;
      continue;
    }
    if (plan.dims == kMaxBroadcastDims) return unimplemented("broadcasting over more than 8 dimensions on a GPU");
    plan.size[plan.dims] = size;
    for (int k = 0; k < kOperands; ++k) plan.stride[k][plan.dims] = stride[static_cast<size_t>(k)];
    ++plan.dims;
  }
  plan.set_divisors();
  return plan;
}

}  // namespace emplace::cuda
