// Where, Unique, DynamicPartition, TopKV2, ApproxTopK and InTopKV2: sorting and counting. How many elements the first
// three give is known only when the device has counted them: they wait.
#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/ops/array/partition_slice.h"
#include "cuda/broadcast.h"
#include "cuda/dims.h"
#include "cuda/float_pair.h"
#include "cuda/sort.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

template <class T>
__global__ void flag_kernel(const T* x, uint32_t* flags, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) flags[i] =
      widen(x[i]) != Wide<T>(0) ? 1 : 0;
}

struct Sizes {
  int rank = 0;
  int64_t size[kMaxDims] = {};
};
__global__ void coordinates_kernel(const uint32_t* firsts, int64_t n, Sizes shape, int64_t* out) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    if (firsts[i] == firsts[i + 1]) continue;
    int64_t rest = i;
    EMPLACE_UNROLL for (int d = kMaxDims - 1; d >= 0; --d) {
      if (d >= shape.rank) continue;
      out[int64_t{firsts[i]} * shape.rank + d] = rest % shape.size[d];
      rest /= shape.size[d];
    }
  }
}

/// flags[0, n) as counts of those before each, and how many there are.
Result<int64_t> count_flags(KernelContext& c, uint32_t* flags, int64_t n) {
  RETURN_IF_ERROR(exclusive_sums(c, flags, n));
  ASSIGN_OR_RETURN(const uint32_t count, read_back(c, flags + n));
  return static_cast<int64_t>(count);
}

template <class T>
class Where final : public Kernel {
 public:
  explicit Where(const KernelInit&) {}
  Status prepare(KernelContext& c) override {
    elements_ = c.input(0).num_elements();
    return ok_status();
  }
  Workspace workspace() const override { return {scratch_bytes(4 * (elements_ + 1))}; }
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    const int64_t n = shape.num_elements();
    if (shape.rank() == 0) return invalid_argument("WhereOp : Unhandled input dimensions: 0");
    if (shape.rank() > kMaxDims) return unimplemented("Where of so many dimensions on a GPU");
    if (n >= int64_t{1} << 32) return unimplemented("Where of so many elements on a GPU");
    ASSIGN_OR_RETURN(Tensor flags, c.allocate_scratch(DType::kUInt32, Shape{n + 1}));
    RETURN_IF_ERROR(launch(Barriers::kNone, flag_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                           flags.data<uint32_t>(), n));
    ASSIGN_OR_RETURN(const int64_t count, count_flags(c, flags.data<uint32_t>(), n));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{count, shape.rank()}));
    Sizes sizes{shape.rank()};
    for (int d = 0; d < shape.rank(); ++d) sizes.size[d] = shape.dim(d);
    return launch(Barriers::kNone, coordinates_kernel, grid_for(n), kThreads, 0, stream_of(c), flags.data<uint32_t>(),
                  n, sizes, c.out<int64_t>(0));
  }

 private:
  int64_t elements_ = 0;
};

template <class T>
inline constexpr int kKeyBits = kIsNarrow<T> ? 32 : 8 * static_cast<int>(sizeof(T));
/// Of the keys of a signed type smaller than 64 bits only these bits count.
template <class T>
inline constexpr uint64_t kKeyMask = kKeyBits<T> == 64 ? ~uint64_t{0} : (uint64_t{1} << (kKeyBits<T> % 64)) - 1;

// TensorFlow takes -0 for 0, but not in the halves; nothing equals a NaN.
template <class T>
__device__ bool same(T a, T b) {
  if constexpr (kIsNarrow<T>)
    return a.bits == b.bits && widen(a) == widen(b);
  else
    return a == b;
}
template <class T>
__device__ uint64_t unique_bits(T x) {
  if constexpr (kIsNarrow<T>)
    return x.bits;
  else
    return ascending_bits(x) & kKeyMask<T>;
}

template <class T>
__global__ void unique_keys_kernel(const T* x, uint64_t* keys, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) keys[i] = unique_bits(x[i]);
}
/// heads[i]: where the group of element i first occurs; flags[i]: is that i? What equals nothing, not even itself, is a
/// group of its own.
template <class T>
__global__ void heads_kernel(const T* x, const uint64_t* keys, const int32_t* places, int32_t* heads, uint32_t* flags,
                             int64_t n) {
  EMPLACE_ROLLED for (int64_t p = thread_index(); p < n; p += thread_count()) {
    const int32_t place = places[p];
    const int32_t head = same(x[place], x[place]) ? places[run_begin(keys, p)] : place;
    heads[place] = head;
    flags[place] = head == place;
  }
}
template <class T, class Index>
__global__ void unique_kernel(const T* x, const int32_t* heads, const uint32_t* firsts, T* values, Index* ids,
                              int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const uint32_t id = firsts[heads[i]];
    ids[i] = static_cast<Index>(id);
    if (heads[i] == i) values[id] = x[i];
  }
}

template <class T>
class Unique final : public Kernel {
 public:
  explicit Unique(const KernelInit&) {}
  Status prepare(KernelContext& c) override {
    elements_ = c.input(0).num_elements();
    return ok_status();
  }
  /// What sorting leaves behind is less than what it takes.
  Workspace workspace() const override { return {sort_scratch_bytes(elements_)}; }
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    if (shape.rank() != 1) return invalid_argument("unique expects a 1D vector.");
    const int64_t n = shape.num_elements();
    RETURN_IF_ERROR(ensure_output(c, 1, shape));
    if (n == 0) return ensure_output(c, 0, Shape{0});
    const cudaStream_t stream = stream_of(c);
    ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, shape));
    RETURN_IF_ERROR(launch(Barriers::kNone, unique_keys_kernel<T>, grid_for(n), kThreads, 0, stream, c.in<T>(0),
                           keys.data<uint64_t>(), n));
    ASSIGN_OR_RETURN(const Sorted sorted, sort_keys(c, std::move(keys), n, kIsNarrow<T> ? 16 : kKeyBits<T>));
    ASSIGN_OR_RETURN(Tensor heads, c.allocate_scratch(DType::kInt32, shape));
    ASSIGN_OR_RETURN(Tensor flags, c.allocate_scratch(DType::kUInt32, Shape{n + 1}));
    RETURN_IF_ERROR(launch(Barriers::kNone, heads_kernel<T>, grid_for(n), kThreads, 0, stream, c.in<T>(0), sorted.key(),
                           sorted.place(), heads.data<int32_t>(), flags.data<uint32_t>(), n));
    ASSIGN_OR_RETURN(const int64_t count, count_flags(c, flags.data<uint32_t>(), n));
    RETURN_IF_ERROR(ensure_output(c, 0, Shape{count}));
    return c.output(1).dtype() == DType::kInt32 ? number<int32_t>(c, heads, flags, n)
                                                : number<int64_t>(c, heads, flags, n);
  }

 private:
  template <class Index>
  static Status number(KernelContext& c, const Tensor& heads, const Tensor& firsts, int64_t n) {
    return launch(Barriers::kNone, unique_kernel<T, Index>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                  heads.data<int32_t>(), firsts.data<uint32_t>(), c.out<T>(0), c.out<Index>(1), n);
  }
  int64_t elements_ = 0;
};

__global__ void partition_keys_kernel(const int32_t* partitions, uint64_t* keys, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) keys[i] =
      static_cast<uint32_t>(partitions[i]);
}
/// starts[p]: how many of the sorted keys are below p.
__global__ void starts_kernel(const uint64_t* keys, int64_t n, int64_t* starts, int64_t count) {
  EMPLACE_ROLLED for (int64_t p = thread_index(); p < count; p += thread_count()) {
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (keys[middle] < static_cast<uint64_t>(p))
        low = middle + 1;
      else
        high = middle;
    }
    starts[p] = low;
  }
}
template <class E>
__global__ void take_rows_kernel(const E* x, const int32_t* places, E* out, IndexDivisor row, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t number = i;
    const int64_t column = row.split(number);
    out[i] = x[places[number] * row.divisor + column];
  }
}

/// What has a number out of range goes nowhere.
template <class E>
class DynamicPartition final : public Kernel {
 public:
  explicit DynamicPartition(const KernelInit&) {}
  Status prepare(KernelContext& c) override {
    const int64_t n = c.input(1).num_elements();
    workspace_ = std::max(sort_scratch_bytes(n), scratch_bytes(8 * n, 4 * n, 8 * (c.num_outputs() + 1)));
    return ok_status();
  }
  Workspace workspace() const override { return {workspace_}; }
  Status run(KernelContext& c) override {
    const Tensor &data = c.input(0), &partitions = c.input(1);
    ASSIGN_OR_RETURN(const Shape slice, partition_slice(data.shape(), partitions.shape()));
    const int64_t n = partitions.num_elements(), row = data.num_elements() > 0 ? slice.num_elements() : 0;
    ScratchVector<int64_t> starts(static_cast<size_t>(c.num_outputs()) + 1);
    ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, Shape{n}));
    const cudaStream_t stream = stream_of(c);
    Sorted sorted;
    if (n > 0) {
      RETURN_IF_ERROR(launch(Barriers::kNone, partition_keys_kernel, grid_for(n), kThreads, 0, stream, c.in<int32_t>(1),
                             keys.data<uint64_t>(), n));
      ASSIGN_OR_RETURN(sorted, sort_keys(c, std::move(keys), n, 32));
      RETURN_IF_ERROR(read_starts(c, sorted, n, starts));
    }
    for (int p = 0; p < c.num_outputs(); ++p) {
      const int64_t first = starts[static_cast<size_t>(p)], count = starts[static_cast<size_t>(p) + 1] - first;
      Shape shape{count};
      for (int i = 0; i < slice.rank(); ++i) shape.add_dim(slice.dim(i));
      RETURN_IF_ERROR(ensure_output(c, p, shape));
      if (count * row == 0) continue;
      RETURN_IF_ERROR(launch(Barriers::kNone, take_rows_kernel<E>, grid_for(count * row), kThreads, 0, stream,
                             c.in<E>(0), sorted.place() + first, c.out<E>(p), IndexDivisor(row, count * row),
                             count * row));
    }
    return ok_status();
  }

 private:
  static Status read_starts(KernelContext& c, const Sorted& sorted, int64_t n, ScratchVector<int64_t>& starts) {
    const auto count = static_cast<int64_t>(starts.size());
    ASSIGN_OR_RETURN(Tensor device, c.allocate_scratch(DType::kInt64, Shape{count}));
    RETURN_IF_ERROR(launch(Barriers::kNone, starts_kernel, grid_for(count), kThreads, 0, stream_of(c), sorted.key(), n,
                           device.data<int64_t>(), count));
    CUDA_TRY(cudaMemcpyAsync(starts.data(), device.raw(), starts.size() * sizeof(int64_t), cudaMemcpyDeviceToHost,
                             stream_of(c)));
    CUDA_TRY(cudaStreamSynchronize(stream_of(c)));
    return ok_status();
  }
  int64_t workspace_ = 0;
};

/// Largest first, NaN last.
template <class T>
__device__ uint64_t top_key(T x) {
  const uint64_t bits = ascending_bits(x) & kKeyMask<T>;
  if constexpr (std::is_floating_point_v<T> || kIsNarrow<T>) {
    if (widen(x) != widen(x)) return bits;
  }
  return ~bits & kKeyMask<T>;
}

constexpr int kFewest = 32;  // that many largest elements are found one after the other, more by sorting

/// A block finds one after the other: the best of those that stand behind the last one found.
template <class T, class Index>
__global__ void top_few_kernel(const T* x, T* values, Index* indices, int64_t columns, int64_t k) {
  struct Found {
    uint64_t key;
    int64_t at;
  };
  EMPLACE_BLOCK_SHARED(Found, slots, [kThreads]);
  x += blockIdx.x * columns;
  Found last{0, -1};
  for (int64_t j = 0; j < k; ++j) {
    Found best{~uint64_t{0}, columns};
    for (int64_t i = threadIdx.x; i < columns; i += kThreads) {
      const uint64_t key = top_key(x[i]);
      const bool behind = last.at < 0 || key > last.key || (key == last.key && i > last.at);
      if (behind && (key < best.key || (key == best.key && i < best.at))) best = {key, i};
    }
    last = best = combine_block(
        best, slots, [](Found a, Found b) { return b.key < a.key || (b.key == a.key && b.at < a.at) ? b : a; });
    if (threadIdx.x == 0) {
      values[blockIdx.x * k + j] = x[best.at];
      indices[blockIdx.x * k + j] = static_cast<Index>(best.at);
    }
  }
}

/// Keys of several rows: what tells the rows apart stands above an element's key, where there is room for it.
template <class T>
__global__ void top_keys_kernel(const T* x, uint64_t* keys, IndexDivisor columns, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    keys[i] = top_key(x[i]);
    if constexpr (kKeyBits<T> < 64) keys[i] |= static_cast<uint64_t>(columns.divide(i)) << kKeyBits<T>;
  }
}
/// The first k of each row.
template <class T, class Index>
__global__ void take_kernel(const T* x, const int32_t* places, T* values, Index* indices, int64_t columns,
                            IndexDivisor k, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t row = i;
    const int64_t rank = k.split(row), place = places[row * columns + rank];
    values[i] = x[place];
    indices[i] = static_cast<Index>(place - row * columns);
  }
}

/// How many rows are sorted together: keys of 64 bits have no room for a row's number.
template <class T>
int64_t rows_at_once(int64_t rows, int64_t columns) {
  constexpr int64_t kElements = int64_t{1} << 20;
  return kKeyBits<T> == 64 ? 1 : std::clamp<int64_t>(kElements / columns, 1, rows);
}

/// TopKV2, and ApproxTopK, whose k is an attr.
template <class T>
class TopK final : public Kernel {
 public:
  explicit TopK(const KernelInit& init) : k_(init.op == "ApproxTopK" ? init.attrs.integer("k") : -1) {}
  Status prepare(KernelContext& c) override {
    const Shape &in = c.input(0).shape(), &out = c.output(0).shape();
    const bool sorts = in.rank() > 0 && out.rank() == in.rank() && out.dim_from_end(1) > kFewest;
    const int64_t columns = sorts ? in.dim_from_end(1) : 0;
    sorted_ = columns > 0 ? columns * rows_at_once<T>(std::max<int64_t>(1, in.num_elements() / columns), columns) : 0;
    return ok_status();
  }
  Workspace workspace() const override { return {sorted_ > 0 ? sort_scratch_bytes(sorted_) : 0}; }
  Status run(KernelContext& c) override {
    const Tensor& in = c.input(0);
    if (in.shape().rank() < 1) return invalid_argument("input must be >= 1-D, got shape []");
    int64_t k = k_;
    if (c.num_inputs() > 1) {
      const Tensor& wanted = c.input(1);
      if (wanted.num_elements() != 1)
        return invalid_argument("k must be scalar, got shape " + wanted.shape().to_string());
      k = wanted.dtype() == DType::kInt16 ? *wanted.data<int16_t>() : int_at(wanted, 0);
    }
    const int64_t columns = in.shape().dim_from_end(1);
    if (k < 0) return invalid_argument(cat("Need k >= 0, got ", k));
    if (columns < k) return invalid_argument(cat("input must have at least k columns. Had ", columns, ", needed ", k));
    Shape shape = in.shape();
    shape.dim(shape.rank() - 1) = k;
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    RETURN_IF_ERROR(ensure_output(c, 1, shape));
    const int64_t rows = columns == 0 ? 0 : in.num_elements() / columns;
    if (k == 0 || rows == 0) return ok_status();
    switch (c.output(1).dtype()) {
      case DType::kInt16:
        return find<int16_t>(c, rows, columns, k);
      case DType::kInt32:
        return find<int32_t>(c, rows, columns, k);
      default:
        return find<int64_t>(c, rows, columns, k);
    }
  }

 private:
  template <class Index>
  static Status find(KernelContext& c, int64_t rows, int64_t columns, int64_t k) {
    const cudaStream_t stream = stream_of(c);
    if (k <= kFewest && rows <= kMaxBlocks) {
      return launch(Barriers::kBlock, top_few_kernel<T, Index>, dim3(static_cast<unsigned>(rows)), kThreads, 0, stream,
                    c.in<T>(0), c.out<T>(0), c.out<Index>(1), columns, k);
    }
    const int64_t most = rows_at_once<T>(rows, columns);
    for (int64_t r = 0; r < rows; r += most) {
      const int64_t now = std::min(most, rows - r), n = now * columns;
      const T* from = c.in<T>(0) + r * columns;
      ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, Shape{n}));
      RETURN_IF_ERROR(launch(Barriers::kNone, top_keys_kernel<T>, grid_for(n), kThreads, 0, stream, from,
                             keys.data<uint64_t>(), IndexDivisor(columns, n), n));
      const int bits = kKeyBits<T> + bits_below(static_cast<uint64_t>(now));
      ASSIGN_OR_RETURN(const Sorted sorted, sort_keys(c, std::move(keys), n, bits));
      RETURN_IF_ERROR(launch(Barriers::kNone, take_kernel<T, Index>, grid_for(now * k), kThreads, 0, stream, from,
                             sorted.place(), c.out<T>(0) + r * k, c.out<Index>(1) + r * k, columns,
                             IndexDivisor(k, now * k), now * k));
    }
    return ok_status();
  }
  const int64_t k_;     // negative: input 1 says
  int64_t sorted_ = 0;  // elements at one time
};

/// A block counts what is larger than a row's target; a number that is not finite counts for more than all.
template <class Index>
__global__ void in_top_kernel(const float* x, const Index* targets, const Index* k, bool* y, int64_t classes) {
  EMPLACE_BLOCK_SHARED(int64_t, slots, [kThreads]);
  const int64_t target = targets[blockIdx.x];
  x += blockIdx.x * classes;
  const bool known = target >= 0 && target < classes;
  const float wanted = known ? x[target] : 0;
  int64_t larger = 0;
  for (int64_t i = threadIdx.x; i < classes; i += kThreads)
    larger += is_finite_float(x[i]) ? static_cast<int64_t>(x[i] > wanted) : int64_t{1} << 40;
  larger = combine_block(larger, slots, [](int64_t a, int64_t b) { return a + b; });
  if (threadIdx.x == 0) y[blockIdx.x] = known && larger < static_cast<int64_t>(k[0]) && larger < int64_t{1} << 40;
}

template <class Index>
class InTopK final : public Kernel {
 public:
  explicit InTopK(const KernelInit&) {}
  Status run(KernelContext& c) override {
    const Shape &predictions = c.input(0).shape(), &targets = c.input(1).shape();
    if (c.input(2).shape().rank() != 0)
      return invalid_argument(cat("k must be 0-D, got shape ", c.input(2).shape().to_string()));
    if (predictions.rank() != 2)
      return invalid_argument(cat("predictions must be 2-dimensional, got shape ", predictions.to_string()));
    if (targets.rank() != 1)
      return invalid_argument(cat("targets must be 1-dimensional, got shape ", targets.to_string()));
    const int64_t rows = predictions.dim(0);
    if (rows != targets.dim(0)) {
      return invalid_argument(
          cat("First dimension of predictions ", rows, " must match length of targets ", targets.dim(0)));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, targets));
    if (rows == 0) return ok_status();
    if (rows > kMaxBlocks) return unimplemented("so many rows of predictions on a GPU");
    return launch(Barriers::kBlock, in_top_kernel<Index>, dim3(static_cast<unsigned>(rows)), kThreads, 0, stream_of(c),
                  c.in<float>(0), c.in<Index>(1), c.in<Index>(2), c.out<bool>(0), predictions.dim(1));
  }
};

}  // namespace

void add_dynamic(KernelTable& table) {
  constexpr DTypeSet kHost{DType::kInt32};
  table.add_waiting("Where", kNumbersAndBool.without(kHost | kHalves),
                    by_input<0, Where, bool, float, double, int8_t, int16_t, int64_t, uint8_t, uint16_t, uint32_t,
                             uint64_t, complex64, complex128>);
  table.add_host_code("Where", kHost);
  table.add_waiting("Unique", kRealNumbers | DTypeSet{DType::kBool},
                    by_input<0, Unique, bool, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                             uint16_t, uint32_t, uint64_t>);
  table.add_waiting("DynamicPartition", kNumbersAndBool, sized_by_input<0, DynamicPartition>);
  table.add_host_code("Unique", DTypeSet{DType::kString});
  table.add("InTopKV2", DTypeSet{DType::kInt32, DType::kInt64}, by_input<1, InTopK, int32_t, int64_t>);
  table.add("ApproxTopK", kFloating.without(DTypeSet{DType::kDouble}), by_input<0, TopK, float, half, bfloat16>);
  table.add("TopKV2", kRealNumbers,
            by_input<0, TopK, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                     uint32_t, uint64_t>);
}

}  // namespace emplace::cuda
