// Gather, GatherV2, GatherNd, ResourceGather, ReverseSequence. An index out of range gives zeros, as TensorFlow's
// kernels for a GPU: nobody waits for the device to find it.
#include <numeric>

#include "core/base/cat.h"
#include "core/ops/array/gather_geometry.h"
#include "core/ops/array/sequence_layout.h"
#include "core/ops/state/variable_state.h"
#include "cuda/broadcast.h"
#include "cuda/tuples.h"

namespace emplace::cuda {
namespace {

/// The widest type that rows of so many bytes consist of.
int64_t width_of_rows(int64_t bytes) { return std::gcd(bytes, int64_t{sizeof(Bytes16)}); }

/// GatherSizes for kernels.
struct GatherPlan {
  GatherSizes sizes;
  IndexDivisor by_inner, by_chosen, by_outer;
  GatherPlan(const GatherSizes& s, int64_t n)
      : sizes(s), by_inner(s.inner, n), by_chosen(s.chosen, n), by_outer(s.outer, n) {}
};

template <class E>
__global__ void gather_kernel(const E* params, Indices indices, E* out, GatherPlan plan, int64_t n) {
  const GatherSizes& g = plan.sizes;
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t slab = i;
    const int64_t column = plan.by_inner.split(slab), choice = plan.by_chosen.split(slab);
    const int64_t index = indices.at(plan.by_outer.divide(slab) * g.chosen + choice);
    out[i] = index >= 0 && index < g.size ? params[(slab * g.size + index) * g.inner + column] : E();
  }
}

/// Rows that are no whole packs: a thread makes a pack of the output, from wherever its elements are. It divides once.
template <class E>
__global__ void gather_pieces_kernel(const E* params, Indices indices, E* out, GatherPlan plan, int64_t n) {
  constexpr int N = kPackSize<E>;
  const GatherSizes& g = plan.sizes;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  int64_t slab = first;
  int64_t column = plan.by_inner.split(slab), choice = plan.by_chosen.split(slab);
  int64_t batch = plan.by_outer.divide(slab), outer = slab - batch * g.outer;
  int64_t index = indices.at(batch * g.chosen + choice);
  Pack<E, N> pack;
  EMPLACE_UNROLL for (int k = 0; k < N; ++k) {
    const bool inside = index >= 0 && index < g.size;
    pack.at[k] = inside ? params[((batch * g.outer + outer) * g.size + index) * g.inner + column] : E();
    if (first + k + 1 >= n) break;
    if (++column < g.inner) continue;
    column = 0;
    if (++choice == g.chosen) {
      choice = 0;
      if (++outer == g.outer) {
        outer = 0;
        ++batch;
      }
    }
    index = indices.at(batch * g.chosen + choice);
  }
  store_pack(out, n, first, pack);
}

/// output 0 = params along `axis` at the indices of input 1; the first `batch_dims` dimensions go together.
template <class E>
Status gather(KernelContext& c, const Tensor& params, int64_t axis, int64_t batch_dims) {
  ASSIGN_OR_RETURN(GatherGeometry g, GatherGeometry::make(params.shape(), c.input(1).shape(), axis, batch_dims));
  if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, g.out));
  const int64_t row_bytes = g.sizes.inner * static_cast<int64_t>(sizeof(E)), n = g.out.num_elements();
  if (n == 0) return ok_status();
  const int64_t width = width_of_rows(row_bytes), wide = n * static_cast<int64_t>(sizeof(E)) / width;
  g.sizes.inner = row_bytes / width;
  return with_width(static_cast<size_t>(width), [&]<class W>(W) {
    auto enqueue = [&](auto kernel, dim3 grid) {
      return launch(Barriers::kNone, kernel, grid, kThreads, 0, stream_of(c), static_cast<const W*>(params.raw()),
                    Indices(c.input(1)), static_cast<W*>(c.output(0).raw()), GatherPlan(g.sizes, wide), wide);
    };
    if constexpr (sizeof(W) == sizeof(Bytes16))
      return enqueue(gather_kernel<W>, grid_for(wide));
    else
      return enqueue(gather_pieces_kernel<W>, grid_for_packs<W>(wide));
  });
}

template <class E>
class Gather final : public Kernel {
 public:
  explicit Gather(const KernelInit& init)
      : has_axis_(init.op == "GatherV2"), batch_dims_(has_axis_ ? init.attrs.integer("batch_dims") : 0) {}
  Status run(KernelContext& c) override {
    if (has_axis_ && c.input(2).num_elements() != 1) return invalid_argument("axis must be scalar");
    return gather<E>(c, c.input(0), has_axis_ ? int_at(c.input(2), 0) : 0, batch_dims_);
  }

 private:
  bool has_axis_;
  int64_t batch_dims_;
};

template <class E>
class ResourceGather final : public Kernel {
 public:
  explicit ResourceGather(const KernelInit& init) : batch_dims_(init.attrs.integer("batch_dims")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const Tensor params, value_behind_handle(c.variable(0), c.output(0).dtype()));
    return gather<E>(c, params, batch_dims_, batch_dims_);
  }

 private:
  int64_t batch_dims_;
};

template <class E>
__global__ void gather_nd_kernel(const E* params, Tuples tuples, E* out, IndexDivisor by_slice, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t tuple = i;
    const int64_t column = by_slice.split(tuple), place = tuples.place(tuple);
    out[i] = place >= 0 ? params[place * by_slice.divisor + column] : E();
  }
}

template <class E>
class GatherNd final : public Kernel {
 public:
  explicit GatherNd(const KernelInit&) {}
  Status run(KernelContext& c) override {
    const Shape& p = c.input(0).shape();
    if (p.rank() < 1) return invalid_argument("params must be at least a vector");
    ASSIGN_OR_RETURN(const NdIndex index, NdIndex::of(c.input(1), p));
    Shape out = index.outer;
    for (int i = index.depth; i < p.rank(); ++i) out.add_dim(p.dim(i));
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, out));
    if (index.tuples == 0) return ok_status();
    if (p.num_elements() == 0) {
      return invalid_argument("Requested more than 0 entries, but params is empty.  Params shape: " + p.to_string());
    }
    ASSIGN_OR_RETURN(const Tuples tuples, Tuples::of(index));
    const int64_t slice_bytes = tuples.slice * static_cast<int64_t>(sizeof(E)), n = out.num_elements();
    if (n == 0) return ok_status();
    const int64_t width = width_of_rows(slice_bytes), wide = n * static_cast<int64_t>(sizeof(E)) / width;
    return with_width(static_cast<size_t>(width), [&]<class W>(W) {
      return launch(Barriers::kNone, gather_nd_kernel<W>, grid_for(wide), kThreads, 0, stream_of(c),
                    static_cast<const W*>(c.input(0).raw()), tuples, static_cast<W*>(c.output(0).raw()),
                    IndexDivisor(slice_bytes / width, wide), wide);
    });
  }
};

template <class E>
__global__ void reverse_kernel(const E* in, Indices lengths, E* out, SequenceLayout l, int64_t n) {
  const int64_t step = l.sequence_first ? l.middle * l.second : 1;
  const int64_t size = l.sequence_first ? l.first : l.second;
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t run = i / l.inner, second = run % l.second, first = run / l.second / l.middle % l.first;
    const int64_t at = l.sequence_first ? first : second, length = lengths.at(l.sequence_first ? second : first);
    const bool moves = at < length && length <= size;
    out[i] = in[moves ? i + (length - 1 - 2 * at) * step * l.inner : i];
  }
}

template <class E>
class ReverseSequence final : public Kernel {
 public:
  explicit ReverseSequence(const KernelInit& init)
      : seq_dim_(init.attrs.integer("seq_dim")), batch_dim_(init.attrs.integer("batch_dim")) {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    ASSIGN_OR_RETURN(const SequenceLayout l, SequenceLayout::of(shape, c.input(1).shape(), seq_dim_, batch_dim_));
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    const int64_t n = shape.num_elements();
    return launch(Barriers::kNone, reverse_kernel<E>, grid_for(n), kThreads, 0, stream_of(c), c.in<E>(0),
                  Indices(c.input(1)), c.out<E>(0), l, n);
  }

 private:
  int64_t seq_dim_, batch_dim_;
};

}  // namespace

void add_gather(KernelTable& table) {
  constexpr DTypeSet kTypes = kNumbersAndBool | DTypeSet{DType::kFloat8E5M2, DType::kFloat8E4M3FN};
  table.add("Gather", kTypes, sized_by_input<0, Gather>);
  table.add("GatherV2", kTypes, sized_by_input<0, Gather>);
  table.add("GatherNd", kTypes, sized_by_input<0, GatherNd>);
  table.add("ReverseSequence", kFloating | DTypeSet{DType::kBool}, sized_by_input<0, ReverseSequence>);
  table.add("ResourceGather", kNumbersAndBool.without(DTypeSet{DType::kInt32}), sized_by_output<ResourceGather>);
}

}  // namespace emplace::cuda
