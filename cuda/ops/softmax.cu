// Softmax, LogSoftmax and the cross entropies: a row is a block's work.
#include "cuda/dims.h"
#include "cuda/element_code.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr int64_t kMaxRows = kMaxBlocks;

/// The largest element of a row, and the sum of exp(x - largest).
template <class W>
struct RowSums {
  W top, sum;
};
template <class T, class F>
__device__ RowSums<Wide<T>> row_sums(const F& logit, int64_t n, Wide<T>* slots) {
  using W = Wide<T>;
  W top = -std::numeric_limits<W>::infinity();
  for (int64_t i = threadIdx.x; i < n; i += kThreads) top = maximum(top, logit(i));
  top = combine_block(top, slots, [](W a, W b) { return maximum(a, b); });
  W sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) sum += std::exp(logit(i) - top);
  sum = combine_block(sum, slots, [](W a, W b) { return a + b; });
  return {top, sum};
}

template <class T>
__global__ void softmax_kernel(const T* x, T* y, int64_t n, bool log) {
  using W = Wide<T>;
  EMPLACE_BLOCK_SHARED(W, slots, [kThreads]);
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  const auto [top, sum] = row_sums<T>([=](int64_t i) { return widen(x[i]); }, n, slots);
  const W scale = W(1) / sum, log_sum = std::log(sum);
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const W value = widen(x[i]) - top;
    y[i] = narrow<T>(log ? value - log_sum : std::exp(value) * scale);
  }
}

/// Elements of a row that a thread can keep, and the longest row that a block can.
template <class T>
inline constexpr int kKept = sizeof(T) == 8 ? 16 : 32;
template <class T>
inline constexpr int64_t kLongestKept = int64_t{kKept<T>} * kThreads;

/// The same for rows of whole packs that the block's threads keep between them: every element is read once.
template <class T>
__global__ void kept_softmax_kernel(const T* x, T* y, int64_t n, bool log) {
  using W = Wide<T>;
  constexpr int N = kPackSize<T>, kPacks = kKept<T> / N;
  EMPLACE_BLOCK_SHARED(W, slots, [kThreads]);
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  auto first = [](int p) { return (p * static_cast<int>(kThreads) + static_cast<int>(threadIdx.x)) * N; };
  Pack<T, N> packs[kPacks] = {};
  EMPLACE_UNROLL for (int p = 0; p < kPacks; ++p) {
    if (first(p) < n) packs[p] = load_pack<N>(x + first(p));
  }
  W own[kPacks][N], top = -std::numeric_limits<W>::infinity();
  EMPLACE_UNROLL for (int p = 0; p < kPacks; ++p) {
    EMPLACE_UNROLL for (int i = 0; i < N; ++i) {
      own[p][i] = first(p) < n ? widen(packs[p].at[i]) : -std::numeric_limits<W>::infinity();
      top = std::fmax(top, own[p][i]);  // which passes by a NaN: it spoils the sum
    }
  }
  top = combine_block(top, slots, [](W a, W b) { return std::fmax(a, b); });
  W sum = 0;
  EMPLACE_UNROLL for (int p = 0; p < kPacks; ++p) {
    EMPLACE_UNROLL for (int i = 0; i < N; ++i) {
      own[p][i] -= top;
      const W power = std::exp(own[p][i]);
      sum += power;
      if (!log) own[p][i] = power;
    }
  }
  sum = combine_block(sum, slots, [](W a, W b) { return a + b; });
  const W scale = log ? W(1) : W(1) / sum, beyond = log ? std::log(sum) : W(0);
  EMPLACE_UNROLL for (int p = 0; p < kPacks; ++p) {
    if (first(p) >= n) break;
    EMPLACE_UNROLL for (int i = 0; i < N; ++i) packs[p].at[i] = narrow<T>((own[p][i] - beyond) * scale);
    store_pack(y + first(p), packs[p]);
  }
}

template <class T>
class Softmax final : public Kernel {
 public:
  explicit Softmax(const KernelInit& init) : log_(init.op == "LogSoftmax") {}
  Status run(KernelContext& c) override {
    const int64_t total = c.output(0).num_elements();
    if (total == 0) return ok_status();
    const int64_t n = c.input(0).shape().dim_from_end(1);
    if (total / n > kMaxRows) return unimplemented("softmax of so many rows on a GPU");
    const bool kept = n % kPackSize<T> == 0 && n <= kLongestKept<T>;
    return launch(Barriers::kBlock, kept ? kept_softmax_kernel<T> : softmax_kernel<T>,
                  dim3(static_cast<unsigned>(total / n)), kThreads, 0, stream_of(c), c.in<T>(0), c.out<T>(0), n, log_);
  }

 private:
  bool log_;
};

/// A matrix that may be one row or one column for all.
template <class T>
struct Operand {
  const T* data;
  int64_t row_step, column_step;

  Operand(const Tensor& t, const Shape& all) : data(t.data<T>()) {
    const int rank = t.shape().rank();
    const int64_t rows = rank < 2 ? 1 : t.shape().dim(0), columns = rank < 1 ? 1 : t.shape().dim_from_end(1);
    row_step = rows == 1 ? 0 : columns;
    column_step = columns == 1 && all.dim(1) != 1 ? 0 : 1;
  }
  __device__ __forceinline__ Wide<T> at(int64_t row, int64_t column) const {
    return widen(data[row * row_step + column * column_step]);
  }
};

/// loss = sum of labels * (log(sum) - (x - max)), gradient = softmax - labels.
template <class T>
__global__ void dense_loss_kernel(Operand<T> logits, Operand<T> labels, T* loss, T* gradient, int64_t n) {
  using W = Wide<T>;
  EMPLACE_BLOCK_SHARED(W, slots, [kThreads]);
  const int64_t row = blockIdx.x;
  const auto [top, sum] = row_sums<T>([=](int64_t i) { return logits.at(row, i); }, n, slots);
  const W log_sum = std::log(sum);
  W own = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    const W x = logits.at(row, i) - top, label = labels.at(row, i);
    own += label == W(0) ? W(0) : label * (log_sum - x);
    gradient[row * n + i] = narrow<T>(std::exp(x) / sum - label);
  }
  own = combine_block(own, slots, [](W a, W b) { return a + b; });
  if (threadIdx.x == 0) loss[row] = narrow<T>(own);
}

/// A label that is no class makes its row NaN.
template <class T>
__global__ void sparse_loss_kernel(const T* logits, Indices labels, T* loss, T* gradient, int64_t n) {
  using W = Wide<T>;
  EMPLACE_BLOCK_SHARED(W, slots, [kThreads]);
  const int64_t row = blockIdx.x, label = labels.at(row);
  const T* x = logits + row * n;
  const auto [top, sum] = row_sums<T>([=](int64_t i) { return widen(x[i]); }, n, slots);
  const bool known = label >= 0 && label < n;
  const W nan = std::numeric_limits<W>::quiet_NaN();
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    gradient[row * n + i] = narrow<T>(known ? std::exp(widen(x[i]) - top) / sum - W(i == label ? 1 : 0) : nan);
  }
  if (threadIdx.x == 0) loss[row] = narrow<T>(known ? std::log(sum) - (widen(x[label]) - top) : nan);
}

template <class T>
class DenseLoss final : public Kernel {
 public:
  explicit DenseLoss(const KernelInit&) {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.output(1).shape();
    if (shape.dim(0) > kMaxRows) return unimplemented("a cross entropy of so many rows on a GPU");
    return launch(Barriers::kBlock, dense_loss_kernel<T>, dim3(static_cast<unsigned>(shape.dim(0))), kThreads, 0,
                  stream_of(c), Operand<T>(c.input(0), shape), Operand<T>(c.input(1), shape), c.out<T>(0), c.out<T>(1),
                  shape.dim(1));
  }
};

template <class T>
class SparseLoss final : public Kernel {
 public:
  explicit SparseLoss(const KernelInit&) {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.output(1).shape();
    if (shape.dim(1) == 0 && shape.dim(0) > 0) {
      return invalid_argument("Must have at least one class, but got logits shape " + shape.to_string());
    }
    if (shape.dim(0) > kMaxRows) return unimplemented("a cross entropy of so many rows on a GPU");
    return launch(Barriers::kBlock, sparse_loss_kernel<T>, dim3(static_cast<unsigned>(shape.dim(0))), kThreads, 0,
                  stream_of(c), c.in<T>(0), Indices(c.input(1)), c.out<T>(0), c.out<T>(1), shape.dim(1));
  }
};

}  // namespace

void add_softmax(KernelTable& table) {
  table.add("Softmax", kFloating, by_input<0, Softmax, float, double, half, bfloat16>);
  table.add("LogSoftmax", kFloating, by_input<0, Softmax, float, double, half, bfloat16>);
  table.add("SoftmaxCrossEntropyWithLogits", kFloating, by_input<0, DenseLoss, float, double, half, bfloat16>);
  table.add("SparseSoftmaxCrossEntropyWithLogits", kFloating, by_input<0, SparseLoss, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
