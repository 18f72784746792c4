// Bincount, DenseBincount: how often each number occurs, or the sum of its weights. Numbers are sorted by their bins; a
// number out of range counts for nothing, as in TensorFlow's kernels for a GPU.
#include "core/ops/reduce/bincount_layout.h"
#include "cuda/combine_rows.h"

namespace emplace::cuda {
namespace {

__global__ void bin_keys_kernel(Indices numbers, IndexDivisor row, int64_t size, uint64_t none, uint64_t* keys,
                                int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t number = numbers.at(i);
    keys[i] = number < 0 || number >= size ? none : static_cast<uint64_t>(row.divide(i) * size + number);
  }
}

/// The first of n sorted keys that is not less.
__device__ __forceinline__ int64_t first_not_below(const uint64_t* keys, int64_t n, uint64_t key) {
  int64_t first = 0;
  while (first < n) {
    const int64_t middle = first + (n - first) / 2;
    if (keys[middle] < key)
      first = middle + 1;
    else
      n = middle;
  }
  return first;
}

/// A thread finds how many keys are its bin's: as many as lie between it and the next.
template <class T>
__global__ void count_bins_kernel(const uint64_t* keys, int64_t n, T* counts, int64_t bins, bool binary) {
  EMPLACE_ROLLED for (int64_t bin = thread_index(); bin < bins; bin += thread_count()) {
    const auto key = static_cast<uint64_t>(bin);
    const int64_t first = first_not_below(keys, n, key);
    int64_t count = first < n && keys[first] == key;
    if (count != 0 && !binary) count = first_not_below(keys + first, n - first, key + 1);
    counts[bin] = static_cast<T>(count);
  }
}

template <class T>
class DenseBincount final : public Kernel {
 public:
  explicit DenseBincount(const KernelInit& init)
      : of_all_(init.op == "Bincount"), binary_(!of_all_ && init.attrs.flag("binary_output")) {}
  Status prepare(KernelContext& c) override {
    const int64_t n = c.input(0).num_elements();
    scratch_ = sort_scratch_bytes(n);
    if (c.input(2).num_elements() > 0 && !binary_) scratch_ += piece_bytes<T>(n, 1, Combine::kAdd);
    return ok_status();
  }
  Workspace workspace() const override { return {scratch_}; }
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const BincountLayout layout, of_all_ ? BincountLayout::of_all(c) : BincountLayout::of(c, binary_));
    RETURN_IF_ERROR(ensure_output(c, 0, layout.out));
    const int64_t n = c.input(0).num_elements(), bins = layout.out.num_elements();
    if (bins == 0) return ok_status();
    ASSIGN_OR_RETURN(const Rows rows, numbers_by_bin(c, layout, n, bins));
    if (!layout.weighted) {
      return launch(Barriers::kNone, count_bins_kernel<T>, grid_for(bins), kThreads, 0, stream_of(c), rows.sorted.key(),
                    n, c.out<T>(0), bins, binary_);
    }
    RETURN_IF_ERROR(enqueue_zeros(stream_of(c), dtype_of<T>, c.output(0).raw(), bins));
    return combine_rows(c, rows, c.in<T>(2), c.out<T>(0), Combine::kAdd);
  }

 private:
  static Result<Rows> numbers_by_bin(KernelContext& c, const BincountLayout& layout, int64_t n, int64_t bins) {
    Rows rows{{}, n, bins};
    const auto none = static_cast<uint64_t>(bins);
    ASSIGN_OR_RETURN(Tensor keys, c.allocate_scratch(DType::kUInt64, Shape{n}));
    RETURN_IF_ERROR(launch(Barriers::kNone, bin_keys_kernel, grid_for(n), kThreads, 0, stream_of(c),
                           Indices(c.input(0)), IndexDivisor(layout.row, n), layout.size, none, keys.data<uint64_t>(),
                           n));
    ASSIGN_OR_RETURN(rows.sorted, sort_keys(c, std::move(keys), n, bits_below(none + 1)));
    return rows;
  }

  const bool of_all_, binary_;
  int64_t scratch_ = 0;
};

}  // namespace

void add_bincount(KernelTable& table) {
  table.add("Bincount", DTypeSet{DType::kFloat, DType::kInt32}, by_output<DenseBincount, float, int32_t>);
  table.add("DenseBincount", DTypeSet{DType::kFloat, DType::kInt32}, by_output<DenseBincount, float, int32_t>);
}

}  // namespace emplace::cuda
