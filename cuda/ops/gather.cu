// Gather, GatherV2, GatherNd, ResourceGather. An index out of range gives zeros, as TensorFlow's kernels for a GPU: nobody waits for the
// device to find it.
#include <mutex>
#include <vector>

#include "core/base/cat.h"
#include "core/ops/variable_state.h"
#include "cuda/tuples.h"

namespace emplace::cuda {
namespace {

/// params is [batch, outer, size, inner], indices [batch, chosen], the result [batch, outer, chosen, inner].
struct Geometry {
  int64_t batch = 1, outer = 1, size = 0, inner = 1, chosen = 1;
};

template <class E>
__global__ void gather_kernel(const E* params, Indices indices, E* out, Geometry g, int64_t n) {
  for (int64_t i = thread_index(); i < n; i += thread_count()) {
    const int64_t row = i / g.inner, choice = row % g.chosen, slab = row / g.chosen;
    const int64_t index = indices.at(slab / g.outer * g.chosen + choice);
    out[i] = index >= 0 && index < g.size ? params[(slab * g.size + index) * g.inner + i % g.inner] : E();
  }
}

/// output 0 = params along `axis` at the indices of input 1; the first `batch_dims` dimensions go together.
template <class E>
Status gather(KernelContext& c, const Tensor& params, int64_t axis, int64_t batch_dims) {
  const Shape &p = params.shape(), &s = c.input(1).shape();
  if (p.rank() < 1) return invalid_argument("params must be at least 1 dimensional");
  if (axis < -p.rank() || axis >= p.rank()) {
    return invalid_argument(cat("Shape must be at least rank ", axis < 0 ? -axis : axis + 1, " but is rank ", p.rank()));
  }
  if (axis < 0) axis += p.rank();
  if (batch_dims < -s.rank() || batch_dims > s.rank()) {
    return invalid_argument(cat("Expected batch_dims in the range [", -s.rank(), ", ", s.rank(), "], but got ", batch_dims));
  }
  if (batch_dims < 0) batch_dims += s.rank();
  if (batch_dims >= p.rank()) {
    return invalid_argument(cat("batch_dims (", batch_dims, ") must be less than rank(params) (", p.rank(), ")."));
  }
  if (axis < batch_dims) {
    return invalid_argument(cat("batch_dims (", batch_dims, ") must be less than or equal to axis (", axis, ")."));
  }
  Geometry g;
  Shape out;
  for (int i = 0; i < axis; ++i) {
    if (i < batch_dims && p.dim(i) != s.dim(i)) {
      return invalid_argument(cat("params.shape[", i, "]: ", p.dim(i), " should be equal to indices.shape[", i, "]: ", s.dim(i)));
    }
    (i < batch_dims ? g.batch : g.outer) *= p.dim(i);
    out.add_dim(p.dim(i));
  }
  for (int i = static_cast<int>(batch_dims); i < s.rank(); ++i) {
    g.chosen *= s.dim(i);
    out.add_dim(s.dim(i));
  }
  g.size = p.dim(static_cast<int>(axis));
  for (int i = static_cast<int>(axis) + 1; i < p.rank(); ++i) {
    g.inner *= p.dim(i);
    out.add_dim(p.dim(i));
  }
  if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, out));
  const int64_t n = out.num_elements();
  return launch(Barriers::kNone, gather_kernel<E>, grid_for(n), kThreads, 0, stream_of(c), params.data<E>(), Indices(c.input(1)), c.out<E>(0), g, n);
}

template <class E>
class Gather final : public Kernel {
 public:
  explicit Gather(const KernelInit& init) : has_axis_(init.op == "GatherV2"), batch_dims_(has_axis_ ? init.attrs.integer("batch_dims") : 0) {}
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
    Variable& v = c.variable(0);
    Tensor params;  // whoever writes the variable meanwhile does so in a buffer of its own
    {
      std::lock_guard lock(v.mutex);
      if (!v.value.valid()) return no_such_variable(v);
      if (v.dtype != c.output(0).dtype()) {
        return invalid_argument(cat("Trying to read variable with wrong dtype. Expected ", dtype_tf_name(v.dtype), " got ", dtype_tf_name(c.output(0).dtype())));
      }
      params = v.value;
    }
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
    return launch(Barriers::kNone, gather_nd_kernel<E>, grid_for(n), kThreads, 0, stream_of(c), c.in<E>(0), tuples, c.out<E>(0), n);
  }
};

}  // namespace

void add_gather(KernelTable& table) {
  constexpr DTypeSet kTypes = kNumbersAndBool | DTypeSet{DType::kFloat8E5M2, DType::kFloat8E4M3FN};
  table.add("Gather", kTypes, sized_by_input<0, Gather>);
  table.add("GatherV2", kTypes, sized_by_input<0, Gather>);
  table.add("GatherNd", kTypes, sized_by_input<0, GatherNd>);
  table.add("ResourceGather", kNumbersAndBool.without(DTypeSet{DType::kInt32}), sized_by_output<ResourceGather>);
}

}  // namespace emplace::cuda
