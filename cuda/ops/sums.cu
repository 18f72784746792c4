// BiasAdd, AddN, and sums into variables: elementwise, but not broadcast as NumPy does.
#include <mutex>

#include "core/base/cat.h"
#include "core/ops/state/variable_state.h"
#include "cuda/channels.h"
#include "cuda/dims.h"
#include "cuda/element_code.h"
#include "cuda/moving.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

template <class T>
EMPLACE_HD T sum_of(T a, T b) {
  return narrow<T>(add(widen(a), widen(b)));
}
template <class T>
EMPLACE_HD T difference_of(T a, T b) {
  return narrow<T>(subtract(widen(a), widen(b)));
}

/// A thread makes one pack. `whole`: a pack's channels are a pack of the biases, too.
template <class T>
__global__ void bias_kernel(const T* x, const T* bias, T* y, int64_t n, Channels channels, bool whole) {
  constexpr int N = kPackSize<T>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  ChannelWalk at(channels, first);
  Pack<T, N> pack = load_pack<T, N>(x, n, first);
  if (whole) {
    const Pack<T, N> biases = load_pack<N>(bias + at.channel);
    EMPLACE_UNROLL for (int j = 0; j < N; ++j) pack.at[j] = sum_of(pack.at[j], biases.at[j]);
  } else {
    EMPLACE_UNROLL for (int j = 0; j < N; ++j) {
      pack.at[j] = sum_of(pack.at[j], bias[at.channel]);
      at.next(channels);
    }
  }
  store_pack(y, n, first, pack);
}

template <class T>
class BiasAdd final : public Kernel {
 public:
  explicit BiasAdd(const KernelInit& init) {
    const AttrValue* format = init.attrs.find("data_format");
    first_ = format != nullptr && format->get<std::string>() == "NCHW";
  }
  Status run(KernelContext& c) override {
    const Shape &shape = c.input(0).shape(), &bias = c.input(1).shape();
    if (shape.rank() < 2) return invalid_argument("Input tensor must be at least 2D: " + shape.to_string());
    if (first_ && shape.rank() < 3)
      return invalid_argument("Input tensor must be at least 3D for NCHW: " + shape.to_string());
    const int at = first_ ? 1 : shape.rank() - 1;
    if (bias.rank() != 1) return invalid_argument("Biases must be 1D: " + bias.to_string());
    if (bias.dim(0) != shape.dim(at)) {
      return invalid_argument(cat("Must provide as many biases as the ", first_ ? "channel" : "last",
                                  " dimension of the input tensor: ", bias.to_string(), " vs. ", shape.to_string()));
    }
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, shape));
    int64_t inner = 1;
    for (int d = at + 1; d < shape.rank(); ++d) inner *= shape.dim(d);
    const int64_t n = shape.num_elements(), channels = shape.dim(at);
    return launch(Barriers::kNone, bias_kernel<T>, grid_for_packs<T>(n), kThreads, 0, stream_of(c), c.in<T>(0),
                  c.in<T>(1), c.out<T>(0), n, Channels(channels > 0 ? n / channels : 0, channels, inner),
                  inner == 1 && channels % kPackSize<T> == 0);
  }

 private:
  bool first_;
};

constexpr int kMaxTerms = 8;
template <class T>
struct Terms {
  const T* at[kMaxTerms] = {};
  int count = 0;
};

/// From the first to the last; the sum is rounded once. A thread makes one pack.
template <class T>
__global__ void add_n_kernel(Terms<T> terms, T* y, int64_t n) {
  constexpr int N = kPackSize<T>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  Wide<T> sums[N];
  const Pack<T, N> start = load_pack<T, N>(terms.at[0], n, first);
  EMPLACE_UNROLL for (int j = 0; j < N; ++j) sums[j] = widen(start.at[j]);
  EMPLACE_UNROLL for (int t = 1; t < kMaxTerms; ++t) {
    if (t >= terms.count) break;
    const Pack<T, N> term = load_pack<T, N>(terms.at[t], n, first);
    EMPLACE_UNROLL for (int j = 0; j < N; ++j) sums[j] = add(sums[j], widen(term.at[j]));
  }
  Pack<T, N> out;
  EMPLACE_UNROLL for (int j = 0; j < N; ++j) out.at[j] = narrow<T>(sums[j]);
  store_pack(y, n, first, out);
}

/// A launch adds up to eight terms; the next goes on from its result.
template <class T>
class AddN final : public Kernel {
 public:
  explicit AddN(const KernelInit&) {}
  Status prepare(KernelContext& c) override {
    partial_bytes_ =
        c.num_inputs() > kMaxTerms ? scratch_bytes(c.output(0).num_elements() * static_cast<int64_t>(sizeof(T))) : 0;
    return ok_status();
  }
  Workspace workspace() const override { return {partial_bytes_}; }
  Status run(KernelContext& c) override {
    const int64_t n = c.output(0).num_elements();
    T* sum = c.out<T>(0);
    Tensor partial;  // the output may lie over an input that comes later
    for (int next = 0; next < c.num_inputs();) {
      Terms<T> terms;
      if (next > 0) terms.at[terms.count++] = static_cast<const T*>(partial.raw());
      while (terms.count < kMaxTerms && next < c.num_inputs()) terms.at[terms.count++] = c.in<T>(next++);
      if (next < c.num_inputs() && !partial.valid()) {
        ASSIGN_OR_RETURN(partial, c.allocate_scratch(dtype_of<T>, c.output(0).shape()));
      }
      T* to = next < c.num_inputs() ? static_cast<T*>(partial.raw()) : sum;
      RETURN_IF_ERROR(
          launch(Barriers::kNone, add_n_kernel<T>, grid_for_packs<T>(n), kThreads, 0, stream_of(c), terms, to, n));
    }
    return ok_status();
  }

 private:
  int64_t partial_bytes_ = 0;
};

/// A thread makes one pack.
template <class T>
__global__ void update_kernel(T* variable, const T* value, int64_t n, bool subtracts) {
  constexpr int N = kPackSize<T>;
  const int64_t first = thread_index() * N;
  if (first >= n) return;
  Pack<T, N> sum = load_pack<T, N>(variable, n, first);
  const Pack<T, N> more = load_pack<T, N>(value, n, first);
  EMPLACE_UNROLL for (int j = 0; j < N; ++j) sum.at[j] =
      subtracts ? difference_of(sum.at[j], more.at[j]) : sum_of(sum.at[j], more.at[j]);
  store_pack(variable, n, first, sum);
}

/// AssignAdd and AssignSub (of references and of resources). The CPU's kernel checks; what it would compute is
/// launched.
template <class T>
class Update final : public Kernel {
 public:
  explicit Update(const KernelInit& init)
      : subtracts_(init.op == "AssignSub" || init.op == "AssignSubVariableOp"),
        reference_(init.op == "AssignAdd" || init.op == "AssignSub") {}
  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    const Tensor& value = c.input(1);
    std::lock_guard lock(v.mutex);
    if (!v.value.valid()) return reference_ ? uninitialized(v) : no_such_variable(v);
    if (!(v.value.shape() == value.shape())) {
      if (reference_) return invalid_argument("Parameters and update must be the same size");
      return invalid_argument(cat("Cannot update variable with shape ", v.value.shape().to_string(),
                                  " using a Tensor with shape ", value.shape().to_string(), ", shapes must be equal."));
    }
    if (v.dtype != value.dtype()) return wrong_type(v, "assign", value.dtype());
    RETURN_IF_ERROR(own_variable(c, v));
    const int64_t n = value.num_elements();
    RETURN_IF_ERROR(launch(Barriers::kNone, update_kernel<T>, grid_for_packs<T>(n), kThreads, 0, stream_of(c),
                           v.value.data<T>(), value.data<T>(), n, subtracts_));
    if (reference_) c.forward_output(0, c.input(0));
    return ok_status();
  }

 private:
  bool subtracts_, reference_;
};

/// Innermost axis first.
struct SumBox {
  int axes = 0;
  int64_t elements = 1;
  Mover::Axis axis[kMaxDims] = {};
};
template <class T>
__global__ void add_box_kernel(const T* in, T* out, SumBox box) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < box.elements; i += thread_count()) {
    int64_t from = 0, to = 0, rest = i;
    for (int d = 0; d < box.axes; ++d) {
      const int64_t index = rest % box.axis[d].size;
      rest /= box.axis[d].size;
      from += index * box.axis[d].in_stride;
      to += index * box.axis[d].out_stride;
    }
    out[to] = sum_of(out[to], in[from]);
  }
}

}  // namespace

Status enqueue_sum(cudaStream_t stream, DType type, std::span<const Mover::Axis> axes, const void* in, void* out) {
  if (axes.size() > kMaxDims) return unimplemented("adding tensors of so many dimensions on a GPU");
  SumBox box;
  for (size_t i = axes.size(); i-- > 0;) {
    box.axis[box.axes++] = axes[i];
    box.elements *= axes[i].size;
  }
  auto add_as = [&]<class T>(T) {
    return launch(Barriers::kNone, add_box_kernel<T>, grid_for(box.elements), kThreads, 0, stream,
                  static_cast<const T*>(in), static_cast<T*>(out), box);
  };
  switch (type) {
    case DType::kFloat:
      return add_as(float{});
    case DType::kDouble:
      return add_as(double{});
    case DType::kHalf:
      return add_as(half{});
    case DType::kBFloat16:
      return add_as(bfloat16{});
    case DType::kComplex64:
      return add_as(complex64{});
    case DType::kComplex128:
      return add_as(complex128{});
    case DType::kInt32:
      return add_as(uint32_t{});
    case DType::kInt64:
      return add_as(uint64_t{});
    default:
      return unimplemented(cat("sums of ", dtype_tf_name(type), " on a GPU"));
  }
}

void add_sums(KernelTable& table) {
  constexpr DTypeSet kInt32{DType::kInt32};
  for (auto op : {"BiasAdd", "BiasAddV1"})
    table.add(op, kFloating | kInt32, by_input<0, BiasAdd, float, double, half, bfloat16, int32_t>);
  table.add("AddN", kFloating | kComplexes | DTypeSet{DType::kUInt32, DType::kInt64},
            by_output<AddN, float, double, half, bfloat16, complex64, complex128, uint32_t, int64_t>);
  table.add_host_code("AddN", kInt32);
  table.add("AccumulateNV2", kFloating | DTypeSet{DType::kUInt32, DType::kInt64},
            by_output<AddN, float, double, half, bfloat16, uint32_t, int64_t>);
  for (auto op : {"AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp"}) {
    table.add(op, kNumbers,
              by_input<1, Update, float, double, half, bfloat16, complex64, complex128, int8_t, int16_t, int32_t,
                       int64_t, uint8_t, uint16_t, uint32_t, uint64_t>);
  }
}

}  // namespace emplace::cuda
