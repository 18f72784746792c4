// SparseReduceSum and SparseReduceMax: values of a sparse tensor combined along axes, as a dense tensor.
// SparseReduceSumSparse and SparseReduceMaxSparse: as a sparse one.
#include <algorithm>
#include <numeric>

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

/// By dimension: is it reduced?
Result<ScratchVector<char>> reduced_axes(const KernelContext& c, int64_t rank) {
  ScratchVector<char> reduced(static_cast<size_t>(rank), 0);
  for (int64_t i = 0; i < c.input(3).num_elements(); ++i) {
    const int64_t axis = int_at(c.input(3), i);
    if (axis < -rank || axis >= rank)
      return invalid_argument(cat("Invalid reduction dimension ", axis, ", for input with ", rank, " dimension(s)"));
    reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
  }
  return reduced;
}

/// Allocates output 0. By value: the element of it that the value goes into.
Result<ScratchVector<int64_t>> group_values(KernelContext& c, bool keep_dims) {
  ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
  RETURN_IF_ERROR(t.check_places());
  ASSIGN_OR_RETURN(const ScratchVector<char> reduced, reduced_axes(c, t.rank));
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

/// What of a place stays, as a number of each dimension.
class KeptDimensions {
 public:
  KeptDimensions(const SparseTensor& t, const ScratchVector<char>& reduced) : t_(t), reduced_(reduced) {}
  /// -1, 0, 1 as place i comes before, with or behind place k.
  int compare(int64_t i, int64_t k) const { return compare_where(i, k, 0); }
  /// The places' numbers, those that stay together behind each other.
  ScratchVector<int64_t> order() const {
    ScratchVector<int64_t> numbers(static_cast<size_t>(t_.count));
    std::iota(numbers.begin(), numbers.end(), 0);
    std::sort(numbers.begin(), numbers.end(), [&](int64_t i, int64_t k) {
      int order = compare_where(i, k, 0);
      if (order == 0) order = compare_where(i, k, 1);
      return order != 0 ? order < 0 : i < k;
    });
    return numbers;
  }

 private:
  int compare_where(int64_t i, int64_t k, char reduced) const {
    const int64_t *a = t_.place(i), *b = t_.place(k);
    for (int64_t d = 0; d < t_.rank; ++d) {
      if (reduced_[static_cast<size_t>(d)] == reduced && a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
    }
    return 0;
  }
  const SparseTensor& t_;
  const ScratchVector<char>& reduced_;
};

/// Values in that order, those from one beginning to the next combined.
using CombineRuns = void(KernelContext& c, const ScratchVector<int64_t>& order, const ScratchVector<int64_t>& begins);

template <class F, class T>
void combine_runs(KernelContext& c, const ScratchVector<int64_t>& order, const ScratchVector<int64_t>& begins) {
  for (size_t run = 0; run + 1 < begins.size(); ++run) {
    const auto value = [&](int64_t i) { return static_cast<Summed<T>>(c.in<T>(1)[order[static_cast<size_t>(i)]]); };
    Summed<T> total = value(begins[run]);
    for (int64_t i = begins[run] + 1; i < begins[run + 1]; ++i) total = F::of(total, value(i));
    c.out<T>(1)[run] = static_cast<T>(total);
  }
}

class SparseReduceSparse final : public Kernel {
 public:
  SparseReduceSparse(const KernelInit& init, CombineRuns* combine)
      : keep_(init.attrs.flag("keep_dims")), combine_(combine) {}

  Status run(KernelContext& c) override {
    if (c.input(3).shape().rank() > 1)
      return invalid_argument(
          cat("Expected reduction_axes to be a scalar or a vector; got shape: ", c.input(3).shape().to_string()));
    ASSIGN_OR_RETURN(const SparseTensor t, SparseTensor::of(c, 0, 1, 2));
    RETURN_IF_ERROR(t.num_elements().take_status());
    ASSIGN_OR_RETURN(const ScratchVector<char> reduced, reduced_axes(c, t.rank));
    const KeptDimensions kept(t, reduced);
    const ScratchVector<int64_t> order = kept.order();
    ScratchVector<int64_t> begins;
    for (int64_t i = 0; i < t.count; ++i) {
      if (i == 0 || kept.compare(order[static_cast<size_t>(i) - 1], order[static_cast<size_t>(i)]) != 0)
        begins.push_back(i);
    }
    const auto runs = static_cast<int64_t>(begins.size());
    begins.push_back(t.count);
    int64_t rank = t.rank;
    if (!keep_) rank -= std::count(reduced.begin(), reduced.end(), 1);
    RETURN_IF_ERROR(c.allocate_output(0, Shape{runs, rank}));
    RETURN_IF_ERROR(c.allocate_output(1, Shape{runs}));
    RETURN_IF_ERROR(c.allocate_output(2, Shape{rank}));
    const auto put = [&](const int64_t* from, int64_t* to, int64_t instead) {
      for (int64_t d = 0; d < t.rank; ++d) {
        const bool gone = reduced[static_cast<size_t>(d)] != 0;
        if (!gone || keep_) *to++ = gone ? instead : from[d];
      }
    };
    for (int64_t run = 0; run < runs; ++run)
      put(t.place(order[static_cast<size_t>(begins[static_cast<size_t>(run)])]), c.out<int64_t>(0) + run * rank, 0);
    put(t.sizes, c.out<int64_t>(2), 1);
    combine_(c, order, begins);
    return ok_status();
  }

 private:
  const bool keep_;
  CombineRuns* const combine_;
};

template <class F, class T>
Result<std::unique_ptr<Kernel>> make_sparse_reduce_sparse(const KernelInit& init) {
  return owned_kernel(new SparseReduceSparse(init, combine_runs<F, T>));
}

Status reduce_sparse_shape(ShapeContext& c) {
  c.set_output(0, Shape{-1, -1});
  c.set_output(1, Shape{-1});
  c.set_output(2, Shape{-1});
  return ok_status();
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

template <class F, class... T>
OpDef sparse_reduction(std::string_view name, std::string_view doc) {
  OpDef op = OpDef(name).doc(doc).shape(reduce_sparse_shape).provides_outputs();
  // NOLINTBEGIN(bugprone-use-after-move): cpu() gives back what it is called on.
  (static_cast<void>(std::move(op).template cpu<T>(make_sparse_reduce_sparse<F, T>)), ...);
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

OpDef sparse_reduce_sum_sparse_op() {
  return sparse_reduction<SparseSumOf, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                          uint16_t, uint32_t, uint64_t, complex64, complex128>(
      "SparseReduceSumSparse", "The sums of a sparse tensor's values along axes, as a sparse tensor.");
}
OpDef sparse_reduce_max_sparse_op() {
  return sparse_reduction<SparseMaximumOf, float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                          uint16_t, uint32_t, uint64_t>(
      "SparseReduceMaxSparse", "The largest of a sparse tensor's values along axes, as a sparse tensor.");
}

}  // namespace emplace
