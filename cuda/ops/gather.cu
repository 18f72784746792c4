// Gather, GatherV2, GatherNd, ResourceGather, ReverseSequence. An index out of range gives zeros, as TensorFlow's
// kernels for a GPU: nobody waits for the device to find it.
#include <vector>

#include "core/base/cat.h"
#include "core/ops/array/gather_geometry.h"
#include "core/ops/array/sequence_layout.h"
#include "core/ops/state/variable_state.h"
#include "cuda/tuples.h"

namespace emplace::cuda {
namespace {

template <class E>
__global__ void gather_kernel(const E* params, Indices indices, E* out, GatherSizes g, int64_t n) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t row = i / g.inner, choice = row % g.chosen, slab = row / g.chosen;
    const int64_t index = indices.at(slab / g.outer * g.chosen + choice);
    out[i] = index >= 0 && index < g.size ? params[(slab * g.size + index) * g.inner + i % g.inner] : E();
  }
}

/// output 0 = params along `axis` at the indices of input 1; the first `batch_dims` dimensions go together.
template <class E>
Status gather(KernelContext& c, const Tensor& params, int64_t axis, int64_t batch_dims) {
  ASSIGN_OR_RETURN(const GatherGeometry g, GatherGeometry::make(params.shape(), c.input(1).shape(), axis, batch_dims));
  if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, g.out));
  const int64_t n = g.out.num_elements();
  return launch(Barriers::kNone, gather_kernel<E>, grid_for(n), kThreads, 0, stream_of(c), params.data<E>(),
                Indices(c.input(1)), c.out<E>(0), g.sizes, n);
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
__global__ void gather_nd_kernel(const E* params, Tuples tuples, E* out, int64_t n) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t from = tuples.offset(i / tuples.slice);
    out[i] = from >= 0 ? params[from + i % tuples.slice] : E();
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
    const int64_t n = out.num_elements();
    return launch(Barriers::kNone, gather_nd_kernel<E>, grid_for(n), kThreads, 0, stream_of(c), c.in<E>(0), tuples,
                  c.out<E>(0), n);
  }
};

template <class E>
__global__ void reverse_kernel(const E* in, Indices lengths, E* out, SequenceLayout l, int64_t n) {
  const int64_t step = l.sequence_first ? l.middle * l.second : 1;
  const int64_t size = l.sequence_first ? l.first : l.second;
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
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
