/// Sorting and counting on a GPU, without atomics: the same order on every run.
#pragma once

#include <bit>

#include "cuda/device_code.h"
#include "cuda/error.h"
#include "cuda/kernel_table.h"
#include "cuda/narrow.h"
#include "cuda/waiting.h"

namespace emplace::cuda {

/// Keys that are sorted, and for each the place where it stood.
struct Sorted {
  Tensor keys, order;  // uint64, int32: handed to kernels, never read here
  const uint64_t* key() const { return keys.data<uint64_t>(); }
  const int32_t* place() const { return order.data<int32_t>(); }
};

/// Where the run of equal keys begins that p is in. Nearby beginnings are found in few steps.
__device__ __forceinline__ int64_t run_begin(const uint64_t* keys, int64_t p) {
  const uint64_t key = keys[p];
  int64_t inside = p, step = 1;
  for (; inside >= step && keys[inside - step] == key; step *= 2) inside -= step;
  int64_t outside = inside >= step ? inside - step : -1;
  while (inside - outside > 1) {
    const int64_t middle = outside + (inside - outside) / 2;
    (keys[middle] == key ? inside : outside) = middle;
  }
  return inside;
}

/// What sort_keys() takes beside the keys, and these. What is sorted is no more than half of it.
int64_t sort_scratch_bytes(int64_t n);

/// Sorts n keys by their lowest `bits` bits, ascending; equal ones stay in order. `keys` (device memory) is used up.
/// Unimplemented from 2^31 keys on.
Result<Sorted> sort_keys(KernelContext& c, Tensor keys, int64_t n, int bits);

/// Sorts indices of rows, each of which takes the place of a key; those out of range become `rows`, behind all others.
Result<Sorted> sort_rows(KernelContext& c, const Tensor& indices, int64_t rows);

/// counts[i] becomes the sum of those before it; the sum of all is written behind the last: counts has n + 1 entries.
Status exclusive_sums(KernelContext& c, uint32_t* counts, int64_t n);

/// Waits for the stream, then gives the value at `device`.
template <class T>
Result<T> read_back(const KernelContext& c, const T* device) {
  T value{};
  CUDA_TRY(cudaMemcpyAsync(&value, device, sizeof value, cudaMemcpyDeviceToHost, stream_of(c)));
  RETURN_IF_ERROR(wait_for(stream_of(c)));
  return value;
}

/// Bits whose order, as unsigned numbers, is that of the values: NaN behind all.
template <class T>
__device__ uint64_t ascending_bits(T x) {
  if constexpr (kIsNarrow<T> || std::is_same_v<T, float>) {
    const float wide = widen(x);
    if (wide != wide) return 0xffffffffu;
    const uint32_t bits = bits_of_float(wide == 0 ? 0.0f : wide);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
  } else if constexpr (std::is_same_v<T, double>) {
    if (x != x) return ~uint64_t{0};
    const double wide = x == 0 ? 0.0 : x;
#ifdef __CUDA_ARCH__
    const auto bits = static_cast<uint64_t>(__double_as_longlong(wide));
#else
    const auto bits = std::bit_cast<uint64_t>(wide);
#endif
    return bits >> 63 ? ~bits : bits | (uint64_t{1} << 63);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(x)) + (uint64_t{1} << (8 * sizeof(T) - 1));
  } else {
    return static_cast<uint64_t>(x);
  }
}
/// Bits that numbers below `limit` take.
int bits_below(uint64_t limit);

}  // namespace emplace::cuda
