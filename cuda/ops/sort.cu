// A radix sort: four bits at a time, each pass stable. A block counts its tile's digits, one block sums the counts up,
// and every block puts its tile's keys where these sums say. Keys of one tile are sorted by one launch.
#include "cuda/sort.h"

#include "cuda/error.h"
#include "cuda/launch.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr int kDigits = 16, kDigitBits = 4;
constexpr int kPerThread = 8, kTile = static_cast<int>(kThreads) * kPerThread;

__device__ __forceinline__ unsigned digit_of(uint64_t key, int shift) {
  return static_cast<unsigned>(key >> shift) % kDigits;
}

/// counts[digit * tiles + tile].
__global__ void count_kernel(const uint64_t* keys, int64_t n, int shift, uint32_t* counts, int64_t tiles) {
  EMPLACE_BLOCK_SHARED(uint16_t, own, [kDigits][kThreads]);
  for (int d = 0; d < kDigits; ++d) own[d][threadIdx.x] = 0;
  const int64_t begin = int64_t{blockIdx.x} * kTile + threadIdx.x * kPerThread;
  for (int64_t i = begin; i < begin + kPerThread && i < n; ++i) ++own[digit_of(keys[i], shift)][threadIdx.x];
  __syncthreads();
  if (threadIdx.x >= kDigits) return;
  uint32_t sum = 0;
  for (unsigned t = 0; t < kThreads; ++t) sum += own[threadIdx.x][t];
  counts[threadIdx.x * tiles + blockIdx.x] = sum;
}

__global__ void place_kernel(const uint64_t* keys, const int32_t* order, int64_t n, int shift, const uint32_t* firsts,
                             int64_t tiles, uint64_t* keys_out, int32_t* order_out) {
  EMPLACE_BLOCK_SHARED(uint16_t, own, [kDigits][kThreads]);
  for (int d = 0; d < kDigits; ++d) own[d][threadIdx.x] = 0;
  const int64_t begin = int64_t{blockIdx.x} * kTile + threadIdx.x * kPerThread;
  for (int64_t i = begin; i < begin + kPerThread && i < n; ++i) ++own[digit_of(keys[i], shift)][threadIdx.x];
  __syncthreads();
  if (threadIdx.x < kDigits) {
    uint16_t sum = 0;
    for (unsigned t = 0; t < kThreads; ++t) {
      const uint16_t count = own[threadIdx.x][t];
      own[threadIdx.x][t] = sum;
      sum = static_cast<uint16_t>(sum + count);
    }
  }
  __syncthreads();
  for (int64_t i = begin; i < begin + kPerThread && i < n; ++i) {
    const unsigned d = digit_of(keys[i], shift);
    const int64_t at = firsts[d * tiles + blockIdx.x] + own[d][threadIdx.x]++;
    keys_out[at] = keys[i];
    order_out[at] = order[i];
  }
}

__global__ void number_kernel(int32_t* order, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) order[i] = static_cast<int32_t>(i);
}

/// One block, all passes: the keys end where they were if `bits` take an even number of passes, else in the other
/// place.
__global__ void sort_tile_kernel(uint64_t* keys, int32_t* order, uint64_t* other_keys, int32_t* other_order, int64_t n,
                                 int bits) {
  EMPLACE_BLOCK_SHARED(uint16_t, own, [kDigits][kThreads + 2]);  // rows begin in different banks
  EMPLACE_BLOCK_SHARED(uint16_t, totals, [kDigits]);
  const int64_t begin = int64_t{threadIdx.x} * kPerThread, end = begin + kPerThread < n ? begin + kPerThread : n;
  for (int64_t i = begin; i < end; ++i) order[i] = static_cast<int32_t>(i);
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    for (int d = 0; d < kDigits; ++d) own[d][threadIdx.x] = 0;
    for (int64_t i = begin; i < end; ++i) ++own[digit_of(keys[i], shift)][threadIdx.x];
    __syncthreads();
    if (threadIdx.x < kDigits) {
      uint16_t sum = 0;
      for (unsigned t = 0; t < blockDim.x; ++t) {
        const uint16_t count = own[threadIdx.x][t];
        own[threadIdx.x][t] = sum;
        sum = static_cast<uint16_t>(sum + count);
      }
      totals[threadIdx.x] = sum;
    }
    __syncthreads();
    for (int64_t i = begin; i < end; ++i) {
      const unsigned digit = digit_of(keys[i], shift);
      int at = own[digit][threadIdx.x]++;
      for (unsigned d = 0; d < digit; ++d) at += totals[d];
      other_keys[at] = keys[i];
      other_order[at] = order[i];
    }
    uint64_t* const from_keys = keys;
    int32_t* const from_order = order;
    keys = other_keys, order = other_order;
    other_keys = from_keys, other_order = from_order;
    __syncthreads();
  }
}

__global__ void index_keys_kernel(Indices indices, uint64_t* keys, int64_t n, uint64_t none) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t at = indices.at(i);
    keys[i] = at < 0 || static_cast<uint64_t>(at) >= none ? none : static_cast<uint64_t>(at);
  }
}

/// One block: each thread sums a piece, then goes over it again from what stands before.
__global__ void sums_kernel(uint32_t* counts, int64_t n) {
  EMPLACE_BLOCK_SHARED(uint32_t, totals, [kThreads]);
  const int64_t piece = (n + kThreads - 1) / kThreads, begin = threadIdx.x * piece;
  uint32_t sum = 0;
  for (int64_t i = begin; i < begin + piece && i < n; ++i) sum += counts[i];
  totals[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t running = 0;
    for (unsigned t = 0; t < kThreads; ++t) {
      const uint32_t own = totals[t];
      totals[t] = running;
      running += own;
    }
    counts[n] = running;
  }
  __syncthreads();
  uint32_t running = totals[threadIdx.x];
  for (int64_t i = begin; i < begin + piece && i < n; ++i) {
    const uint32_t own = counts[i];
    counts[i] = running;
    running += own;
  }
}

}  // namespace

Status exclusive_sums(KernelContext& c, uint32_t* counts, int64_t n) {
  return launch(Barriers::kBlock, sums_kernel, dim3(1), kThreads, 0, stream_of(c), counts, n);
}

int64_t sort_scratch_bytes(int64_t n) {
  const int64_t tiles = (n + kTile - 1) / kTile;
  return scratch_bytes(8 * n, 4 * n, 8 * n, 4 * n, tiles > 1 ? 4 * (kDigits * tiles + 1) : 0);
}

Result<Sorted> sort_keys(KernelContext& c, Tensor keys, int64_t n, int bits) {
  if (n >= int64_t{1} << 31) return unimplemented("sorting so many elements on a GPU");
  const int64_t tiles = (n + kTile - 1) / kTile;
  Sorted now{std::move(keys), Tensor()}, next;
  ASSIGN_OR_RETURN(now.order, c.allocate_scratch(DType::kInt32, Shape{n}));
  ASSIGN_OR_RETURN(next.keys, c.allocate_scratch(DType::kUInt64, Shape{n}));
  ASSIGN_OR_RETURN(next.order, c.allocate_scratch(DType::kInt32, Shape{n}));
  if (tiles <= 1) {
    const auto threads = static_cast<unsigned>((n + kPerThread - 1) / kPerThread + 31) / 32 * 32;
    RETURN_IF_ERROR(launch(Barriers::kBlock, sort_tile_kernel, dim3(n > 0 ? 1 : 0), threads, 0, stream_of(c),
                           now.keys.data<uint64_t>(), now.order.data<int32_t>(), next.keys.data<uint64_t>(),
                           next.order.data<int32_t>(), n, bits));
    const bool odd = (bits + kDigitBits - 1) / kDigitBits % 2 != 0;
    return odd ? next : now;
  }
  ASSIGN_OR_RETURN(Tensor counts, c.allocate_scratch(DType::kUInt32, Shape{kDigits * tiles + 1}));
  RETURN_IF_ERROR(
      launch(Barriers::kNone, number_kernel, grid_for(n), kThreads, 0, stream_of(c), now.order.data<int32_t>(), n));
  const dim3 grid(static_cast<unsigned>(tiles));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    auto* firsts = counts.data<uint32_t>();
    RETURN_IF_ERROR(
        launch(Barriers::kBlock, count_kernel, grid, kThreads, 0, stream_of(c), now.key(), n, shift, firsts, tiles));
    RETURN_IF_ERROR(exclusive_sums(c, firsts, kDigits * tiles));
    RETURN_IF_ERROR(launch(Barriers::kBlock, place_kernel, grid, kThreads, 0, stream_of(c), now.key(), now.place(), n,
                           shift, firsts, tiles, next.keys.data<uint64_t>(), next.order.data<int32_t>()));
    std::swap(now, next);
  }
  return now;
}

int bits_below(uint64_t limit) {
  int bits = 0;
  while (bits < 64 && (limit - 1) >> bits != 0) ++bits;
  return bits;
}

Result<Sorted> sort_rows(KernelContext& c, const Tensor& indices, int64_t rows) {
  const int64_t n = indices.num_elements();
  ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, Shape{n}));
  RETURN_IF_ERROR(launch(Barriers::kNone, index_keys_kernel, grid_for(n), kThreads, 0, stream_of(c), Indices(indices),
                         keys.data<uint64_t>(), n, static_cast<uint64_t>(rows)));
  return sort_keys(c, std::move(keys), n, bits_below(static_cast<uint64_t>(rows) + 1));
}

}  // namespace emplace::cuda
