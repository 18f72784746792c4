// Sum, Mean, Prod, Max, Min, All, Any, L2Loss, EuclideanNorm over any axes, and BiasAddGrad. Where elements of one
// output lie side by side, a block takes an output; else a block takes 32 outputs, eight rows of elements at a time.
// Where outputs are few and their elements many, blocks take fixed pieces first and a second launch combines these.
// Every order follows from the shapes alone.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "core/base/cat.h"
#include "cuda/dims.h"
#include "cuda/element_code.h"
#include "cuda/float_pair.h"
#include "cuda/moving.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

template <class T>
EMPLACE_HD T lowest() {
  if constexpr (std::numeric_limits<T>::has_infinity)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::lowest();
}
template <class T>
EMPLACE_HD T highest() {
  if constexpr (std::numeric_limits<T>::has_infinity)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}

struct Sum {
  template <class A>
  EMPLACE_HD static A start() {
    return A(0);
  }
  template <class A>
  EMPLACE_HD static A map(A x) {
    return x;
  }
  template <class A>
  EMPLACE_HD static A combine(A a, A b) {
    return add(a, b);
  }
  template <class A>
  EMPLACE_HD static A result(A all, int64_t) {
    return all;
  }
};
struct Mean : Sum {
  template <class A>
  EMPLACE_HD static A result(A all, int64_t n) {
    if constexpr (kIsComplex<A>)
      return n == 0 ? A(0) : all / A(static_cast<decltype(all.re)>(n));
    else
      return all / static_cast<A>(n);
  }
};
struct Prod : Sum {
  template <class A>
  EMPLACE_HD static A start() {
    return A(1);
  }
  template <class A>
  EMPLACE_HD static A combine(A a, A b) {
    return multiply(a, b);
  }
};
struct Max : Sum {
  template <class A>
  EMPLACE_HD static A start() {
    return lowest<A>();
  }
  template <class A>
  EMPLACE_HD static A combine(A a, A b) {
    return maximum(a, b);
  }
};
struct Min : Sum {
  template <class A>
  EMPLACE_HD static A start() {
    return highest<A>();
  }
  template <class A>
  EMPLACE_HD static A combine(A a, A b) {
    return minimum(a, b);
  }
};
struct All : Sum {
  template <class A>
  EMPLACE_HD static A start() {
    return true;
  }
  EMPLACE_HD static bool combine(bool a, bool b) { return a && b; }
};
struct Any : All {
  template <class A>
  EMPLACE_HD static A start() {
    return false;
  }
  EMPLACE_HD static bool combine(bool a, bool b) { return a || b; }
};
struct HalfSumOfSquares : Sum {
  template <class A>
  EMPLACE_HD static A map(A x) {
    return x * x;
  }
  template <class A>
  EMPLACE_HD static A result(A all, int64_t) {
    return all / 2;
  }
};

struct Euclidean : Sum {
  template <class A>
  EMPLACE_HD static A map(A x) {
    if constexpr (kIsComplex<A>)
      return A(x.re * x.re + x.im * x.im);
    else
      return x * x;
  }
  template <class A>
  EMPLACE_HD static A result(A all, int64_t) {
    if constexpr (kIsComplex<A>)
      return A(std::sqrt(all.re));
    else
      return std::sqrt(all);
  }
};

/// Sums of floats are kept in double, and those that a thread makes in pairs of floats.
template <class T>
using Partial = std::conditional_t<std::is_same_v<T, float> || kIsNarrow<T>, double, T>;
template <class R, class T>
using Accumulator = std::conditional_t<std::is_base_of_v<Max, R> || std::is_base_of_v<Min, R>, Wide<T>, Partial<T>>;

template <class R, class T>
inline constexpr bool kInPairs =
    std::is_same_v<Partial<T>, double> && !std::is_same_v<T, double> &&
    (std::is_same_v<R, Sum> || std::is_same_v<R, Mean> || std::is_same_v<R, HalfSumOfSquares>);

/// What a thread makes of its elements: `walk` calls what it gets for one after the other. Sums that a pair of floats
/// cannot hold are made again, in double.
template <class R, class T, class Walk>
__device__ __forceinline__ Accumulator<R, T> combined_along(const Walk& walk) {
  using A = Accumulator<R, T>;
  if constexpr (kInPairs<R, T>) {
    FloatPair pair;
    walk([&](T x) {
      if constexpr (std::is_same_v<R, HalfSumOfSquares>)
        pair.add_square(widen(x));
      else
        pair.add(widen(x));
    });
    if (pair.is_finite()) return pair.value();
  }
  A all = R::template start<A>();
  walk([&](T x) { all = R::combine(all, R::map(static_cast<A>(widen(x)))); });
  return all;
}

constexpr unsigned kColumns = 32, kRows = kThreads / kColumns;

template <class R, class T>
EMPLACE_HD T finished(Accumulator<R, T> all, int64_t n) {
  return narrow<T>(static_cast<Wide<T>>(R::result(all, n)));
}

struct Layout {
  Dims kept, reduced;
  int64_t piece = 0;  // elements that one block (row of blocks) takes of an output
};

/// Elements begin, begin + step, ... before `end`, of those that the dimensions walk over.
template <class R, class T>
__device__ Accumulator<R, T> combine_elements(const T* from, const Dims& along, int64_t begin, int64_t end,
                                              int64_t step) {
  return combined_along<R, T>([&](const auto& take) {
    if (along.count == 1) {
      const int64_t stride = along.stride[0];
      EMPLACE_UNROLL_4 for (int64_t i = begin; i < end; i += step) take(from[i * stride]);
    } else {
      EMPLACE_ROLLED for (int64_t i = begin; i < end; i += step) take(from[along.offset(i)]);
    }
  });
}

/// This thread's part of n elements side by side: packs, and of what stands before the first and behind the last whole
/// one an element. Four packs are under way at a time.
template <class R, class T>
__device__ Accumulator<R, T> combine_run(const T* from, int64_t n) {
  constexpr int N = kPackSize<T>, kAtOnce = 4;
  const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(from) / sizeof(T) % N),
                ahead = past == 0 ? 0 : N - past;
  const int64_t packs = n > ahead ? (n - ahead) / N : 0;
  return combined_along<R, T>([&](const auto& take) {
    if (threadIdx.x < ahead && threadIdx.x < n) take(from[threadIdx.x]);
    int64_t p = threadIdx.x;
    for (; p + (kAtOnce - 1) * kThreads < packs; p += kAtOnce * kThreads) {
      Pack<T, N> held[kAtOnce];
      EMPLACE_UNROLL for (int k = 0; k < kAtOnce; ++k) held[k] = load_pack<N>(from + ahead + (p + k * kThreads) * N);
      EMPLACE_UNROLL for (int k = 0; k < kAtOnce; ++k) {
        EMPLACE_UNROLL for (int i = 0; i < N; ++i) take(held[k].at[i]);
      }
    }
    EMPLACE_ROLLED for (; p < packs; p += kThreads) {
      const Pack<T, N> held = load_pack<N>(from + ahead + p * N);
      EMPLACE_UNROLL for (int i = 0; i < N; ++i) take(held.at[i]);
    }
    EMPLACE_ROLLED for (int64_t i = ahead + packs * N + threadIdx.x; i < n; i += kThreads) take(from[i]);
  });
}

/// Block (o, p): piece p of output o. `partial` takes what one piece gives; without it there is one piece.
template <class R, class T>
__global__ void rows_kernel(const T* x, T* y, Accumulator<R, T>* partial, Layout at) {
  using A = Accumulator<R, T>;
  EMPLACE_BLOCK_SHARED(A, slots, [kThreads]);
  const int64_t output = blockIdx.x, begin = blockIdx.y * at.piece, n = at.reduced.elements;
  const int64_t end = begin + at.piece < n ? begin + at.piece : n;
  const T* from = x + at.kept.offset(output);
  A all = at.reduced.count == 1 ? combine_run<R>(from + begin, end - begin)
                                : combine_elements<R>(from, at.reduced, begin + threadIdx.x, end, kThreads);
  all = combine_block(all, slots, [](A a, A b) { return R::combine(a, b); });
  if (threadIdx.x != 0) return;
  if (partial)
    partial[output * gridDim.y + blockIdx.y] = all;
  else
    y[output] = finished<R, T>(all, n);
}

template <class R, class T>
__global__ void columns_kernel(const T* x, T* y, Accumulator<R, T>* partial, Layout at) {
  using A = Accumulator<R, T>;
  EMPLACE_BLOCK_SHARED(A, slots, [kThreads]);
  const unsigned column = threadIdx.x % kColumns, row = threadIdx.x / kColumns;
  const int64_t output = int64_t{blockIdx.x} * kColumns + column, begin = blockIdx.y * at.piece,
                n = at.reduced.elements;
  const int64_t end = begin + at.piece < n ? begin + at.piece : n;
  A all = R::template start<A>();
  if (output < at.kept.elements) {
    all = combine_elements<R>(x + at.kept.offset(output), at.reduced, begin + row, end, kRows);
  }
  slots[threadIdx.x] = all;
  __syncthreads();
  for (unsigned height = kRows / 2; height > 0; height /= 2) {
    if (row < height) slots[threadIdx.x] = R::combine(slots[threadIdx.x], slots[threadIdx.x + height * kColumns]);
    __syncthreads();
  }
  if (row != 0 || output >= at.kept.elements) return;
  if (partial)
    partial[output * gridDim.y + blockIdx.y] = slots[column];
  else
    y[output] = finished<R, T>(slots[column], n);
}

template <class R, class T>
__global__ void finish_kernel(const Accumulator<R, T>* partial, T* y, int64_t pieces, int64_t n) {
  using A = Accumulator<R, T>;
  EMPLACE_BLOCK_SHARED(A, slots, [kThreads]);
  A all = R::template start<A>();
  EMPLACE_UNROLL_4 for (int64_t p = threadIdx.x; p < pieces; p += kThreads) all =
      R::combine(all, partial[blockIdx.x * pieces + p]);
  all = combine_block(all, slots, [](A a, A b) { return R::combine(a, b); });
  if (threadIdx.x == 0) y[blockIdx.x] = finished<R, T>(all, n);
}

/// How a reduction is cut, from its sizes alone.
struct Cut {
  bool rows;
  int64_t blocks, pieces;
  explicit Cut(const Layout& at) {
    constexpr int64_t kPiece = 16384, kManyOutputs = 512, kMaxPieces = 4096;
    const int64_t outputs = at.kept.elements, n = at.reduced.elements;
    rows = n >= 2 * kThreads && at.reduced.stride[0] == 1;
    blocks = rows ? outputs : (outputs + kColumns - 1) / kColumns;
    pieces = blocks >= kManyOutputs ? 1 : std::clamp<int64_t>(n / (rows ? kPiece : kPiece / kColumns), 1, kMaxPieces);
  }
};

/// What reduce() takes for the time of its launches.
template <class R, class T>
int64_t partial_bytes(const Layout& at) {
  const int64_t pieces = Cut(at).pieces;
  return pieces > 1 ? scratch_bytes(at.kept.elements * pieces * static_cast<int64_t>(sizeof(Accumulator<R, T>))) : 0;
}

template <class R, class T>
Status reduce(KernelContext& c, Layout at) {
  using A = Accumulator<R, T>;
  const int64_t outputs = at.kept.elements, n = at.reduced.elements;
  if (outputs == 0) return ok_status();
  const auto [rows, blocks, pieces] = Cut(at);
  at.piece = (n + pieces - 1) / pieces;
  if (blocks > kMaxBlocks) return unimplemented("a reduction to so many elements on a GPU");
  Tensor partial;
  if (pieces > 1) {
    ASSIGN_OR_RETURN(partial, c.allocate_scratch(dtype_of<A>, Shape{outputs * pieces}));
  }
  auto* partials = pieces > 1 ? static_cast<A*>(partial.raw()) : nullptr;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(pieces));
  RETURN_IF_ERROR(launch(Barriers::kBlock, rows ? rows_kernel<R, T> : columns_kernel<R, T>, grid, kThreads, 0,
                         stream_of(c), c.in<T>(0), c.out<T>(0), partials, at));
  if (pieces == 1) return ok_status();
  return launch(Barriers::kBlock, finish_kernel<R, T>, dim3(static_cast<unsigned>(outputs)), kThreads, 0, stream_of(c),
                partials, c.out<T>(0), pieces, n);
}

Result<Layout> layout_of(const Shape& shape, const std::vector<bool>& reduced) {
  Layout at;
  int64_t stride = 1;
  for (int d = shape.rank() - 1; d >= 0; stride *= shape.dim(d--)) {
    RETURN_IF_ERROR((reduced[static_cast<size_t>(d)] ? at.reduced : at.kept).add(shape.dim(d), stride));
  }
  return at;
}

/// Which dimensions the axes name.
Result<std::vector<bool>> named_axes(const Tensor& axes, int rank) {
  std::vector<bool> named(static_cast<size_t>(rank));
  for (int64_t axis : ints_of(axes)) {
    if (axis < -rank || axis >= rank) {
      return invalid_argument(cat("Invalid reduction dimension ", axis, " for input with ", rank, " dimensions."));
    }
    const size_t i = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    if (named[i]) return invalid_argument(cat("Invalid reduction arguments: Axes contains duplicate dimension: ", i));
    named[i] = true;
  }
  return named;
}

template <class R>
struct Over {
  template <class T>
  class Axes final : public Kernel {
   public:
    explicit Axes(const KernelInit&) {}
    Status prepare(KernelContext& c) override {
      const Shape& shape = c.input(0).shape();
      std::vector<bool> named(static_cast<size_t>(shape.rank()), true);
      if (c.num_inputs() > 1) {
        ASSIGN_OR_RETURN(named, named_axes(c.input(1), shape.rank()));
      }
      ASSIGN_OR_RETURN(at_, layout_of(shape, named));
      return ok_status();
    }
    Workspace workspace() const override { return {partial_bytes<R, T>(at_)}; }
    Status run(KernelContext& c) override {
      // Of a single element each: nothing is computed, as in TensorFlow, so that -0 stays what it is.
      if (!std::is_same_v<R, Euclidean> && c.num_inputs() > 1 && at_.reduced.elements == 1 && at_.kept.elements > 0) {
        return enqueue_copy(stream_of(c), dtype_of<T>, std::array{Mover::Axis{at_.kept.elements, 1, 1}}, c.in<T>(0),
                            c.out<T>(0));
      }
      return reduce<R, T>(c, at_);
    }

   private:
    Layout at_;
  };

  template <class... Ts>
  static constexpr KernelMaker kMaker = by_input<0, Axes, Ts...>;
};

/// The sum of each channel.
template <class T>
class BiasGrad final : public Kernel {
 public:
  explicit BiasGrad(const KernelInit& init) {
    const AttrValue* format = init.attrs.find("data_format");
    first_ = format != nullptr && format->get<std::string>() == "NCHW";
  }
  Status prepare(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    if (shape.rank() < 2) return invalid_argument("Input tensor must be at least 2D: " + shape.to_string());
    if (first_ && shape.rank() < 3)
      return invalid_argument("Input tensor must be at least 3D for NCHW: " + shape.to_string());
    const int channels = first_ ? 1 : shape.rank() - 1;
    std::vector<bool> reduced(static_cast<size_t>(shape.rank()), true);
    reduced[static_cast<size_t>(channels)] = false;
    ASSIGN_OR_RETURN(at_, layout_of(shape, reduced));
    return ok_status();
  }
  Workspace workspace() const override { return {partial_bytes<Sum, T>(at_)}; }
  Status run(KernelContext& c) override {
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, Shape{at_.kept.elements}));
    return reduce<Sum, T>(c, at_);
  }

 private:
  bool first_;
  Layout at_;
};

}  // namespace

void add_reductions(KernelTable& table) {
  constexpr DTypeSet kFractions = kFloating | kComplexes, kInt64{DType::kInt64}, kInts{DType::kInt32, DType::kInt64};
  table.add("Sum", kFractions | kInt64,
            Over<Sum>::kMaker<float, double, half, bfloat16, complex64, complex128, int64_t>);
  table.add("Mean", kFractions, Over<Mean>::kMaker<float, double, half, bfloat16, complex64, complex128>);
  table.add("Prod", kFractions | kInts,
            Over<Prod>::kMaker<float, double, half, bfloat16, complex64, complex128, int32_t, int64_t>);
  table.add("Max", kFloating | kInt64, Over<Max>::kMaker<float, double, half, bfloat16, int64_t>);
  table.add("Min", kFloating, Over<Min>::kMaker<float, double, half, bfloat16>);
  for (auto op : {"Sum", "Max", "Min"}) table.add_host_code(op, DTypeSet{DType::kInt32});
  table.add("All", kAnyType, Over<All>::kMaker<bool>);
  table.add("Any", kAnyType, Over<Any>::kMaker<bool>);
  table.add("L2Loss", kFloating, Over<HalfSumOfSquares>::kMaker<float, double, half, bfloat16>);
  table.add("EuclideanNorm", kFractions, Over<Euclidean>::kMaker<float, double, half, bfloat16, complex64, complex128>);
  table.add("BiasAddGrad", kFloating, by_input<0, BiasGrad, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
