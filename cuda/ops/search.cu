// Bucketize, LowerBound, UpperBound: where values belong among sorted ones. Where these are not sorted, or are no
// numbers, the same steps lead to the same place as on the CPU.
#include "core/ops/array/search_arguments.h"
#include "cuda/broadcast.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// The first place of [0, n) where goes_on(place) is false, by bisection.
template <class F>
__device__ __forceinline__ int64_t bisect(int64_t n, const F& goes_on) {
  int64_t first = 0;
  while (n > 0) {
    const int64_t half_way = n / 2;
    if (goes_on(first + half_way)) {
      first += half_way + 1;
      n -= half_way + 1;
    } else {
      n = half_way;
    }
  }
  return first;
}

/// How C++ compares a T with a float.
template <class T>
using ComparedWithFloat = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
__global__ void bucketize_kernel(const T* x, const float* boundaries, int64_t count, int32_t* y, int64_t n) {
  constexpr int N = kPackSize<T, int32_t>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  const Pack<T, N> from = load_pack<T, N>(x, n, first);
  Pack<int32_t, N> to;
  EMPLACE_UNROLL for (int k = 0; k < N; ++k) {
    using W = ComparedWithFloat<T>;
    const auto value = static_cast<W>(from.at[k]);
    to.at[k] = static_cast<int32_t>(bisect(count, [&](int64_t i) { return !(value < static_cast<W>(boundaries[i])); }));
  }
  store_pack(y, n, first, to);
}

/// The boundaries are copied to the device once.
template <class T>
class Bucketize final : public Kernel {
 public:
  explicit Bucketize(std::vector<float> boundaries) : boundaries_(std::move(boundaries)) {}
  Workspace workspace() const override { return {0, scratch_bytes(boundaries_.size() * sizeof(float))}; }
  Status run(KernelContext& c) override {
    const auto count = static_cast<int64_t>(boundaries_.size());
    if (!placed_.valid() && count > 0) {
      ASSIGN_OR_RETURN(Tensor placed, c.allocate_persistent(DType::kFloat, Shape{count}));
      CUDA_TRY(
          cudaMemcpyAsync(placed.raw(), boundaries_.data(), placed.size_bytes(), cudaMemcpyHostToDevice, stream_of(c)));
      placed_ = std::move(placed);
    }
    const int64_t n = c.output(0).num_elements();
    return launch(Barriers::kNone, bucketize_kernel<T>, grid_for_packs<T, int32_t>(n), kThreads, 0, stream_of(c),
                  c.in<T>(0), count > 0 ? placed_.data<float>() : nullptr, count, c.out<int32_t>(0), n);
  }

 private:
  const std::vector<float> boundaries_;
  Tensor placed_;
};

template <class T>
struct BucketizeMaker {
  static Result<std::unique_ptr<Kernel>> make(const KernelInit& init) {
    ASSIGN_OR_RETURN(std::vector<float> boundaries, bucket_boundaries(init));
    return owned_kernel(new Bucketize<T>(std::move(boundaries)));
  }
};

/// A thread finds one value's place in its row.
template <class T>
__global__ void bound_kernel(const T* sorted, const T* values, void* y, bool gives_int64, bool upper, int64_t length,
                             IndexDivisor per_row, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const T* const row = sorted + per_row.divide(i) * length;
    const Wide<T> value = widen(values[i]);
    const int64_t place = bisect(length, [&](int64_t at) {
      const Wide<T> there = widen(row[at]);
      return upper ? !(value < there) : there < value;
    });
    if (gives_int64)
      static_cast<int64_t*>(y)[i] = place;
    else
      static_cast<int32_t*>(y)[i] = static_cast<int32_t>(place);
  }
}

template <class T>
class Bound final : public Kernel {
 public:
  explicit Bound(const KernelInit& init) : upper_(init.op == "UpperBound") {}
  Status run(KernelContext& c) override {
    RETURN_IF_ERROR(check_search_rows(c));
    const int64_t n = c.output(0).num_elements();
    return launch(Barriers::kNone, bound_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0), c.in<T>(1),
                  c.output(0).raw(), c.output(0).dtype() == DType::kInt64, upper_, c.input(0).shape().dim(1),
                  IndexDivisor(c.input(1).shape().dim(1), n), n);
  }

 private:
  const bool upper_;
};

}  // namespace

void add_search(KernelTable& table) {
  table.add("Bucketize", DTypeSet{DType::kFloat}, BucketizeMaker<float>::make);
  table.add("Bucketize", DTypeSet{DType::kDouble}, BucketizeMaker<double>::make);
  table.add("Bucketize", DTypeSet{DType::kInt32}, BucketizeMaker<int32_t>::make);
  table.add("Bucketize", DTypeSet{DType::kInt64}, BucketizeMaker<int64_t>::make);
  for (auto op : {"LowerBound", "UpperBound"}) {
    table.add(op, kRealNumbers,
              by_input<0, Bound, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                       uint32_t, uint64_t>);
  }
}

}  // namespace emplace::cuda
