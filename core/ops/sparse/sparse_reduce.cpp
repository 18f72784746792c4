// SparseReduceSum and SparseReduceMax: values of a sparse tensor combined along axes, as a dense tensor.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/sparse/sparse_tensor.h"

namespace emplace {
namespace {

Status reduce_shape(ShapeContext& c) {
  RETURN_IF_ERROR(sparse_inputs(c, 0, 1, 2));
  return ok_status();
}

struct SparseSumOf {
  template <class T>
  static T of(T a, T b) {
    return add(a, b);
  }
};
struct SparseMaximumOf {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};

/// Allocates output 0. By value: the element of it that the value goes into.
Result<ScratchVector<int64_t>> group_values(KernelContext& c, bool keep_dims) {
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
  RETURN_IF_ERROR(t.check_places());
  ScratchVector<char> reduced(static_cast<size_t>(t.rank), 0);
  for (int64_t i = 0; i < c.input(3).num_elements(); ++i) {
    const int64_t axis = int_at(c.input(3), i);
    if (axis < -t.rank || axis >= t.rank)
      return invalid_argument(cat("Invalid reduction dimension ", axis, ", for input with ", t.rank, " dimension(s)"));
    reduced[static_cast<size_t>(axis < 0 ? axis + t.rank : axis)] = 1;
  }
  Shape out;
  for (int64_t d = 0; d < t.rank; ++d) {
    const bool gone = reduced[static_cast<size_t>(d)] != 0;
    if (!gone || keep_dims) out.add_dim(gone ? 1 : t.sizes[d]);
  }
  if (!out.checked_num_elements()) return invalid_argument("the result's size cannot be counted");
  RETURN_IF_ERROR(c.allocate_output(0, out));
  ScratchVector<int64_t> groups(static_cast<size_t>(t.count));
  for (int64_t i = 0; i < t.count; ++i) {
    int64_t flat = 0;
    for (int64_t d = 0; d < t.rank; ++d) {
      if (!reduced[static_cast<size_t>(d)]) flat = flat * t.sizes[d] + t.place(i)[d];
    }
    groups[static_cast<size_t>(i)] = flat;
  }
  return groups;
}

/// Values in the order in which they come; a group that none comes to is 0.
template <class F, class T>
void combine_groups(KernelContext& c, const ScratchVector<int64_t>& groups, Summed<T>* sums, bool* any) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const int64_t at = groups[i];
    const auto x = static_cast<Summed<T>>(c.in<T>(1)[i]);
    sums[at] = any[at] ? F::of(sums[at], x) : x;
    any[at] = true;
  }
  T* out = c.out<T>(0);
  for (int64_t i = 0; i < c.output(0).num_elements(); ++i) out[i] = any[i] ? static_cast<T>(sums[i]) : T(0);
}

using CombineGroups = void(KernelContext& c, const ScratchVector<int64_t>& groups, void* sums, bool* any);

class SparseReduce final : public Kernel {
 public:
  SparseReduce(const KernelInit& init, CombineGroups* combine, DType summed)
      : keep_(init.attrs.flag("keep_dims")), combine_(combine), summed_(summed) {}

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const ScratchVector<int64_t> groups, group_values(c, keep_));
    const int64_t n = c.output(0).num_elements();
    ASSIGN_OR_RETURN(const Tensor sums, c.allocate_scratch(summed_, Shape{n}));
    ASSIGN_OR_RETURN(const Tensor any, c.allocate_scratch(DType::kBool, Shape{n}));
    std::fill_n(any.data<bool>(), n, false);
    combine_(c, groups, sums.raw(), any.data<bool>());
    return ok_status();
  }

 private:
  const bool keep_;
  CombineGroups* const combine_;
  const DType summed_;
};

template <class F, class T>
Result<std::unique_ptr<Kernel>> make_sparse_reduce(const KernelInit& init) {
  const auto combine = [](KernelContext& c, const ScratchVector<int64_t>& groups, void* sums, bool* any) {
    combine_groups<F, T>(c, groups, static_cast<Summed<T>*>(sums), any);
  };
  return owned_kernel(new SparseReduce(init, combine, dtype_of<Summed<T>>));
}

// Every value gets what came to the sum that it went into.
Status reduce_sum_gradient(GradientContext& g) {
  Value axes = g.input(3), sizes = g.cast(g.input(2), DType::kInt32);
  Value kept = g.reduced_shape(sizes, axes);
  Value spread = g.reshape(g.grad(0), kept);
  Value scale = g.add("FloorDiv", {sizes, kept});
  Value places = g.add("FloorDiv", {g.cast(g.input(0), DType::kInt32), scale});
  g.set(1, g.add("GatherNd", {spread, places}));
  return g.status();
}

template <class F, class... T>
OpDef reduction(std::string_view name, std::string_view doc) {
  OpDef op = OpDef(name).doc(doc).shape(reduce_shape).provides_outputs();
  // NOLINTBEGIN(bugprone-use-after-move): cpu() gives back what it is called on.
  (static_cast<void>(std::move(op).template cpu<T>(make_sparse_reduce<F, T>)), ...);
  return op;
  // NOLINTEND(bugprone-use-after-move)
}

}  // namespace

OpDef sparse_reduce_sum_op() {
  return reduction<SparseSumOf, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                   uint32_t, uint64_t, complex64, complex128>(
             "SparseReduceSum", "The sums of a sparse tensor's values along axes, as a dense tensor.")
      .gradient(reduce_sum_gradient);
}
OpDef sparse_reduce_max_op() {
  return reduction<SparseMaximumOf, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                   uint32_t, uint64_t>("SparseReduceMax",
                                       "The largest of a sparse tensor's values along axes, as a dense tensor.");
}

}  // namespace emplace
