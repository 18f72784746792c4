// DataFormatDimMap, DataFormatVecPermute: numbers of dimensions, and values for each, of one data format in another.
#include "core/ops/array/format_permutation.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// Places, or sources, of at most five dimensions.
struct Order {
  int at[5] = {};
  int size = 0;
  Order(const FormatPermutation& p, const std::array<int, 5>& order) : size(p.size) {
    for (int i = 0; i < size; ++i) at[i] = order[static_cast<size_t>(i)];
  }
};

template <class T>
__global__ void dim_map_kernel(const T* x, T* y, Order to, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int axis = static_cast<int>(x[i] % to.size);
    y[i] = static_cast<T>(to.at[axis < 0 ? axis + to.size : axis]);
  }
}
template <class T>
__global__ void permute_rows_kernel(const T* x, T* y, Order from, int64_t columns, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) y[i] =
      x[from.at[i / columns] * columns + i % columns];
}

template <class T>
class DimMap final : public Kernel {
 public:
  explicit DimMap(const KernelInit& init) : attrs_(init.attrs) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const FormatPermutation p, FormatPermutation::of(attrs_));
    const int64_t n = c.output(0).num_elements();
    return launch(Barriers::kNone, dim_map_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0), c.out<T>(0),
                  Order(p, p.place), n);
  }

 private:
  const Attrs attrs_;
};

template <class T>
class VecPermute final : public Kernel {
 public:
  explicit VecPermute(const KernelInit& init) : attrs_(init.attrs) {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    ASSIGN_OR_RETURN(const FormatPermutation all, FormatPermutation::of(attrs_));
    ASSIGN_OR_RETURN(const FormatPermutation p, all.of_rows(attrs_, shape));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    const int64_t n = shape.num_elements();
    return launch(Barriers::kNone, permute_rows_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.in<T>(0),
                  c.out<T>(0), Order(p, p.source), n / p.size, n);
  }

 private:
  const Attrs attrs_;
};

}  // namespace

void add_data_format(KernelTable& table) {
  constexpr DTypeSet kInts{DType::kInt32, DType::kInt64};
  table.add("DataFormatDimMap", kInts, by_input<0, DimMap, int32_t, int64_t>);
  table.add("DataFormatVecPermute", kInts, by_input<0, VecPermute, int32_t, int64_t>);
}

}  // namespace emplace::cuda
