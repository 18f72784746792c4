// What goes along one axis: ArgMax, ArgMin, Cumsum, Cumprod. A line is a block's work where its elements lie side by
// side and are many, else a thread's.
#include "core/base/cat.h"
#include "cuda/dims.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// Lines of `size` elements, `inner` apart.
struct Lines {
  int64_t count = 0, size = 0, inner = 1;
  bool by_block() const { return inner == 1 && size >= 64; }
  __device__ __forceinline__ int64_t begin(int64_t line) const { return line / inner * size * inner + line % inner; }
};

/// Along the axis that input 1, a scalar in host memory, names; -1 in size if there is none.
Lines lines_of(const KernelContext& c) {
  const Shape& shape = c.input(0).shape();
  const int64_t axis = int_at(c.input(1), 0), wrapped = axis < 0 ? axis + shape.rank() : axis;
  if (wrapped < 0 || wrapped >= shape.rank()) return {0, -1, 1};
  Lines lines{1, shape.dim(static_cast<int>(wrapped)), 1};
  for (int d = 0; d < shape.rank(); ++d) {
    if (d != wrapped) lines.count *= shape.dim(d);
    if (d > wrapped) lines.inner *= shape.dim(d);
  }
  return lines;
}

template <class T>
struct Candidate {
  Wide<T> value;
  int64_t at;
};
struct Largest {
  template <class T>
  EMPLACE_HD static Wide<T> start() {
    return lowest_finite<T>();
  }
  template <class T>
  EMPLACE_HD static bool beyond(T a, T b) {
    return a > b;
  }
};
struct Smallest {
  template <class T>
  EMPLACE_HD static Wide<T> start() {
    return highest_finite<T>();
  }
  template <class T>
  EMPLACE_HD static bool beyond(T a, T b) {
    return a < b;
  }
};
/// Of elements [begin, size), `step` apart in number: the first of the best. What is not beyond the last finite number
/// on the other side is never found, nor is NaN (core/ops/reduce/arg_reduce.cpp): then it is place 0.
template <class F, class T>
__device__ Candidate<T> best_of(const T* line, int64_t begin, int64_t step, Lines lines) {
  Candidate<T> best{F::template start<T>(), 0};
  for (int64_t i = begin; i < lines.size; i += step) {
    const Wide<T> value = widen(line[i * lines.inner]);
    if (F::beyond(value, best.value)) best = {value, i};
  }
  return best;
}
/// Of equals the one that stands first.
template <class F, class T>
EMPLACE_HD Candidate<T> better(Candidate<T> a, Candidate<T> b) {
  if (F::beyond(b.value, a.value)) return b;
  return F::beyond(a.value, b.value) || a.at < b.at ? a : b;
}

template <class F, class T, class Index>
__global__ void arg_block_kernel(const T* x, Index* y, Lines lines) {
  EMPLACE_BLOCK_SHARED(Candidate<T>, slots, [kThreads]);
  Candidate<T> best = best_of<F, T>(x + lines.begin(blockIdx.x), threadIdx.x, kThreads, lines);
  best = combine_block(best, slots, [](Candidate<T> a, Candidate<T> b) { return better<F, T>(a, b); });
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<Index>(best.at);
}
template <class F, class T, class Index>
__global__ void arg_thread_kernel(const T* x, Index* y, Lines lines) {
  EMPLACE_ROLLED for (int64_t l = thread_index(); l < lines.count; l += thread_count()) {
    y[l] = static_cast<Index>(best_of<F, T>(x + lines.begin(l), 0, 1, lines).at);
  }
}

template <class F>
struct Arg {
  template <class T>
  class Reduce final : public Kernel {
   public:
    explicit Reduce(const KernelInit&) {}
    Status prepare(KernelContext& c) override {
      const Shape& shape = c.input(0).shape();
      lines_ = lines_of(c);
      const int64_t axis = int_at(c.input(1), 0);
      if (lines_.size < 0) {
        return invalid_argument(
            cat("Expected dimension in the range [", -shape.rank(), ", ", shape.rank(), "), but got ", axis));
      }
      if (lines_.size == 0)
        return invalid_argument(cat("Reduction axis ", axis, " is empty in shape ", shape.to_string()));
      return ok_status();
    }
    Status run(KernelContext& c) override {
      return c.output(0).dtype() == DType::kInt32 ? run_as<int32_t>(c) : run_as<int64_t>(c);
    }

   private:
    template <class Index>
    Status run_as(KernelContext& c) {
      if (lines_.by_block() && lines_.count <= kMaxBlocks) {
        return launch(Barriers::kBlock, arg_block_kernel<F, T, Index>, dim3(static_cast<unsigned>(lines_.count)),
                      kThreads, 0, stream_of(c), c.in<T>(0), c.out<Index>(0), lines_);
      }
      return launch(Barriers::kNone, arg_thread_kernel<F, T, Index>, grid_for(lines_.count), kThreads, 0, stream_of(c),
                    c.in<T>(0), c.out<Index>(0), lines_);
    }
    Lines lines_;
  };
};

struct RunningSum {
  template <class A>
  EMPLACE_HD static A start() {
    return A(0);
  }
  template <class A>
  EMPLACE_HD static A combine(A a, A b) {
    return add(a, b);
  }
};
struct RunningProduct {
  template <class A>
  EMPLACE_HD static A start() {
    return A(1);
  }
  template <class A>
  EMPLACE_HD static A combine(A a, A b) {
    return multiply(a, b);
  }
};

/// Elements [begin, end) of a line, from what stands before them.
template <class S, class T>
__device__ Wide<T> scan_piece(const T* x, T* y, int64_t begin, int64_t end, Lines lines, bool exclusive, bool reverse,
                              Wide<T> running) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = (reverse ? lines.size - 1 - i : i) * lines.inner;
    const Wide<T> next = S::combine(running, widen(x[at]));
    if (y) y[at] = narrow<T>(exclusive ? running : next);
    running = next;
  }
  return running;
}

template <class S, class T>
__global__ void scan_thread_kernel(const T* x, T* y, Lines lines, bool exclusive, bool reverse) {
  EMPLACE_ROLLED for (int64_t l = thread_index(); l < lines.count; l += thread_count()) {
    const int64_t begin = lines.begin(l);
    scan_piece<S, T>(x + begin, y + begin, 0, lines.size, lines, exclusive, reverse, S::template start<Wide<T>>());
  }
}

/// Every thread first combines a piece, then scans it from what all pieces before it give.
template <class S, class T>
__global__ void scan_block_kernel(const T* x, T* y, Lines lines, bool exclusive, bool reverse) {
  EMPLACE_BLOCK_SHARED(Wide<T>, totals, [kThreads]);
  const int64_t first = lines.begin(blockIdx.x), piece = (lines.size + kThreads - 1) / kThreads;
  const int64_t begin = threadIdx.x * piece < lines.size ? threadIdx.x * piece : lines.size;
  const int64_t end = begin + piece < lines.size ? begin + piece : lines.size;
  totals[threadIdx.x] = scan_piece<S, T>(x + first, static_cast<T*>(nullptr), begin, end, lines, exclusive, reverse,
                                         S::template start<Wide<T>>());
  __syncthreads();
  if (threadIdx.x == 0) {
    Wide<T> running = S::template start<Wide<T>>();
    for (unsigned t = 0; t < kThreads; ++t) {
      const Wide<T> own = totals[t];
      totals[t] = running;
      running = S::combine(running, own);
    }
  }
  __syncthreads();
  scan_piece<S, T>(x + first, y + first, begin, end, lines, exclusive, reverse, totals[threadIdx.x]);
}

template <class S>
struct Scanning {
  template <class T>
  class Scan final : public Kernel {
   public:
    explicit Scan(const KernelInit& init)
        : exclusive_(init.attrs.flag("exclusive")), reverse_(init.attrs.flag("reverse")) {}
    Status prepare(KernelContext& c) override {
      const Shape& shape = c.input(0).shape();
      if (c.input(1).shape().rank() != 0) {
        return invalid_argument(cat("ScanOp: axis must be a scalar, not ", c.input(1).shape().to_string()));
      }
      lines_ = lines_of(c);
      if (lines_.size >= 0) return ok_status();
      return invalid_argument(cat("ScanOp: Expected scan axis in the range [", -shape.rank(), ", ", shape.rank(),
                                  "), but got ", int_at(c.input(1), 0)));
    }
    Status run(KernelContext& c) override {
      // A block reads its line twice, so it must not write over it.
      const bool by_block = lines_.by_block() && lines_.count <= kMaxBlocks && c.input(0).raw() != c.output(0).raw();
      return launch(by_block ? Barriers::kBlock : Barriers::kNone,
                    by_block ? scan_block_kernel<S, T> : scan_thread_kernel<S, T>,
                    by_block ? dim3(static_cast<unsigned>(lines_.count)) : grid_for(lines_.count), kThreads, 0,
                    stream_of(c), c.in<T>(0), c.out<T>(0), lines_, exclusive_, reverse_);
    }

   private:
    bool exclusive_, reverse_;
    Lines lines_;
  };
};

}  // namespace

void add_lines(KernelTable& table) {
  constexpr DTypeSet kWithBool = kFloating | DTypeSet{DType::kBool},
                     kWithInts = kFloating | DTypeSet{DType::kInt32, DType::kInt64};
  table.add("ArgMax", kWithBool, by_input<0, Arg<Largest>::Reduce, float, double, half, bfloat16, bool>);
  table.add("ArgMin", kWithBool, by_input<0, Arg<Smallest>::Reduce, float, double, half, bfloat16, bool>);
  table.add("Cumsum", kWithInts,
            by_input<0, Scanning<RunningSum>::Scan, float, double, half, bfloat16, int32_t, int64_t>);
  table.add("Cumprod", kWithInts,
            by_input<0, Scanning<RunningProduct>::Scan, float, double, half, bfloat16, int32_t, int64_t>);
}

}  // namespace emplace::cuda
