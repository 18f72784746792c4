// Sum, Mean, Max and Min over any axes. An output is the work of one block: threads take every 256th element, then a
// tree over warps. Where outputs are few and their elements many, blocks take fixed pieces first and a second launch
// adds these up. Every order follows from the shapes alone.
#include <algorithm>
#include <limits>
#include <vector>

#include "cuda/kernel_table.h"
#include "cuda/launch.h"
#include "cuda/narrow.h"

namespace emplace::cuda {
namespace {

struct Sum {
  template <class T>
  EMPLACE_HD static T start() { return T(0); }
  template <class T>
  EMPLACE_HD static T combine(T a, T b) { return a + b; }
  template <class T>
  EMPLACE_HD static T result(T all, int64_t) { return all; }
};
struct Mean : Sum {
  template <class T>
  EMPLACE_HD static T result(T all, int64_t n) { return all / static_cast<T>(n); }
};
struct Max : Sum {
  template <class T>
  EMPLACE_HD static T start() { return -std::numeric_limits<T>::infinity(); }
  template <class T>
  EMPLACE_HD static T combine(T a, T b) { return a > b || a != a ? a : b; }
};
struct Min : Sum {
  template <class T>
  EMPLACE_HD static T start() { return std::numeric_limits<T>::infinity(); }
  template <class T>
  EMPLACE_HD static T combine(T a, T b) { return a < b || a != a ? a : b; }
};

constexpr int kMaxDims = 8;

/// Dimensions, innermost first, with the input's strides.
struct Dims {
  int count = 0;
  int64_t size[kMaxDims] = {}, stride[kMaxDims] = {};
  __device__ __forceinline__ int64_t offset(int64_t i) const {
    int64_t at = 0;
    for (int d = 0; d < count; ++d) {
      const int64_t next = i / size[d];
      at += (i - next * size[d]) * stride[d];
      i = next;
    }
    return at;
  }
};

template <class R, class A>
__device__ A block_combine(A all) {
  __shared__ A of_warp[kThreads / 32];
  for (int delta = 16; delta > 0; delta /= 2) all = R::combine(all, __shfl_down_sync(~0u, all, delta));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = all;
  __syncthreads();
  for (unsigned w = 1; threadIdx.x == 0 && w < kThreads / 32; ++w) all = R::combine(all, of_warp[w]);
  return all;  // in thread 0
}

/// Block (o, p): piece p of output o. `partial` takes what one piece gives; without it there is one piece.
template <class R, class T>
__global__ void reduce_kernel(const T* x, T* y, Wide<T>* partial, Dims kept, Dims reduced, int64_t n, int64_t piece) {
  using A = Wide<T>;
  const int64_t output = blockIdx.x, begin = blockIdx.y * piece;
  const int64_t end = begin + piece < n ? begin + piece : n;
  const T* from = x + kept.offset(output);
  A all = R::template start<A>();
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) all = R::combine(all, widen(from[reduced.offset(i)]));
  all = block_combine<R>(all);
  if (threadIdx.x != 0) return;
  if (partial) partial[output * gridDim.y + blockIdx.y] = all;
  else y[output] = narrow<T>(R::result(all, n));
}

template <class R, class T>
__global__ void finish_kernel(const Wide<T>* partial, T* y, int64_t pieces, int64_t n) {
  using A = Wide<T>;
  A all = R::template start<A>();
  for (int64_t p = threadIdx.x; p < pieces; p += kThreads) all = R::combine(all, partial[blockIdx.x * pieces + p]);
  all = block_combine<R>(all);
  if (threadIdx.x == 0) y[blockIdx.x] = narrow<T>(R::result(all, n));
}

template <class R, class T>
class Reduction final : public Kernel {
 public:
  explicit Reduction(const KernelInit&) {}

  Status prepare(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    std::vector<bool> axes(static_cast<size_t>(shape.rank()));
    for (int64_t axis : ints_of(c.input(1))) {
      if (axis < -shape.rank() || axis >= shape.rank()) return invalid_argument("Invalid reduction dimension");
      axes[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
    }
    kept_ = reduced_ = Dims();
    n_ = 1;
    int64_t stride = 1;
    for (int d = shape.rank() - 1; d >= 0; stride *= shape.dim(d--)) {
      if (shape.dim(d) == 1) continue;
      bool is_reduced = axes[static_cast<size_t>(d)];
      if (is_reduced) n_ *= shape.dim(d);
      Dims& dims = is_reduced ? reduced_ : kept_;
      if (dims.count == kMaxDims) return unimplemented("reducing a tensor of more than 8 dimensions on a GPU");
      dims.size[dims.count] = shape.dim(d);
      dims.stride[dims.count++] = stride;
    }
    outputs_ = c.output(0).num_elements();
    return ok_status();
  }

  Status run(KernelContext& c) override {
    constexpr int64_t kPiece = 16384, kManyOutputs = 512, kMaxPieces = 4096;
    int64_t pieces = outputs_ >= kManyOutputs ? 1 : std::clamp<int64_t>((n_ + kPiece - 1) / kPiece, 1, kMaxPieces);
    int64_t piece = (n_ + pieces - 1) / pieces;
    Tensor partial;
    if (pieces > 1) {
      ASSIGN_OR_RETURN(partial, c.allocate_scratch(dtype_of<Wide<T>>, Shape{outputs_ * pieces}));
    }
    auto* partials = pieces > 1 ? partial.data<Wide<T>>() : nullptr;
    dim3 grid(static_cast<unsigned>(outputs_), static_cast<unsigned>(pieces));
    RETURN_IF_ERROR(launch(Barriers::kBlock, reduce_kernel<R, T>, grid, kThreads, 0, stream_of(c), c.in<T>(0), c.out<T>(0),
                           partials, kept_, reduced_, n_, piece));
    if (pieces == 1) return ok_status();
    return launch(Barriers::kBlock, finish_kernel<R, T>, dim3(static_cast<unsigned>(outputs_)), kThreads, 0, stream_of(c), partials,
                  c.out<T>(0), pieces, n_);
  }

 private:
  Dims kept_, reduced_;
  int64_t n_ = 1, outputs_ = 0;  // elements of one output; outputs
};

template <class R>
Result<std::unique_ptr<Kernel>> reduction(const KernelInit& init) {
  switch (init.input_types[0]) {
    case DType::kFloat: return make<Reduction<R, float>>(init);
    case DType::kDouble: return make<Reduction<R, double>>(init);
    case DType::kHalf: return make<Reduction<R, half>>(init);
    default: return make<Reduction<R, bfloat16>>(init);
  }
}

}  // namespace

void add_reductions(KernelTable& table) {
  table.add("Sum", kFloating, reduction<Sum>);
  table.add("Mean", kFloating, reduction<Mean>);
  table.add("Max", kFloating, reduction<Max>);
  table.add("Min", kFloating, reduction<Min>);
}

}  // namespace emplace::cuda
