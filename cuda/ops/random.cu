// Random numbers from the CPU's own functions (core/ops/random/philox.h): those of a uniform distribution are the same
// bits.
#include <optional>

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/random/random_state.h"
#include "core/ops/random/rng_state.h"
#include "cuda/dims.h"
#include "cuda/moving.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

constexpr uint64_t kBlocksPerElement = 256;  // reserved by a run, whatever it uses

/// A stream that the host knows, or where its key and counter lie in device memory.
struct StreamSource {
  PhiloxStream known{0, 0, 0};
  const uint64_t *key = nullptr, *counter = nullptr;
  __device__ __forceinline__ PhiloxStream get() const {
    return key ? PhiloxStream(key[0], counter[0], counter[1]) : known;
  }
};

template <class T>
__global__ void random_kernel(StreamSource source, Distribution distribution, T* y, int64_t n) {
  constexpr int64_t kCount = kPhiloxGroup<T>;
  const PhiloxStream stream = source.get();
  EMPLACE_ROLLED for (int64_t g = thread_index(); g * kCount < n; g += thread_count()) {
    PhiloxWide<T> group[kCount] = {};
    random_group<T>(stream, distribution, static_cast<uint64_t>(g), group);
    for (int64_t i = 0; i < kCount && g * kCount + i < n; ++i) y[g * kCount + i] = narrow<T>(group[i]);
  }
}

template <class T>
__global__ void integers_kernel(StreamSource source, int64_t low, uint64_t range, T* y, int64_t n) {
  constexpr int64_t kCount = kPhiloxGroup<T>;
  using Bits = std::make_unsigned_t<T>;  // hold any range of T
  const PhiloxStream stream = source.get();
  EMPLACE_ROLLED for (int64_t g = thread_index(); g * kCount < n; g += thread_count()) {
    const auto w = stream.block(static_cast<uint64_t>(g));
    for (int64_t i = 0; i < kCount && g * kCount + i < n; ++i) {
      const auto within = word_of_block<Bits>(w, static_cast<size_t>(i)) % static_cast<Bits>(range);
      y[g * kCount + i] = static_cast<T>(static_cast<uint64_t>(low) + within);
    }
  }
}

template <class T>
__global__ void words_kernel(StreamSource source, T* y, int64_t n) {
  constexpr int64_t kCount = kPhiloxGroup<T>;
  const PhiloxStream stream = source.get();
  EMPLACE_ROLLED for (int64_t g = thread_index(); g * kCount < n; g += thread_count()) {
    const auto block = stream.block(static_cast<uint64_t>(g));
    for (int64_t i = 0; i < kCount && g * kCount + i < n; ++i)
      y[g * kCount + i] = word_of_block<T>(block, static_cast<size_t>(i));
  }
}

/// Gives output 0 the shape that input `sizes` (host memory) holds; how many elements it has.
Result<int64_t> output_of_shape(KernelContext& c, int sizes = 0) {
  ASSIGN_OR_RETURN(const Shape shape, shape_of_values(c.input(sizes)));
  if (c.output(0).raw() == nullptr || !(c.output(0).shape() == shape)) RETURN_IF_ERROR(c.allocate_output(0, shape));
  return shape.num_elements();
}

Distribution distribution_of(std::string_view op) {
  if (op.find("Uniform") != op.npos) return Distribution::kUniform;
  return op.find("Truncated") != op.npos ? Distribution::kTruncatedNormal : Distribution::kNormal;
}

template <class T>
Status draw(KernelContext& c, const StreamSource& source, Distribution distribution, int64_t n) {
  return launch(Barriers::kNone, random_kernel<T>, grid_for(n, int64_t{kThreads} * kPhiloxGroup<T>), kThreads, 0,
                stream_of(c), source, distribution, c.out<T>(0), n);
}

template <class T>
class Random final : public Kernel {
 public:
  explicit Random(const KernelInit& init) : state_(init), distribution_(distribution_of(init.op)) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const int64_t n, output_of_shape(c));
    return draw<T>(c, {state_.reserve(kBlocksPerElement * static_cast<uint64_t>(n))}, distribution_, n);
  }

 private:
  RandomState state_;
  Distribution distribution_;
};

/// Integers in [input `at`, input `at` + 1), which are in host memory.
struct IntegerRange {
  int64_t low = 0, high = 0;

  static Result<IntegerRange> of(const KernelContext& c, int at) {
    constexpr std::string_view kNames[] = {"minval", "maxval"};
    for (int i : {0, 1}) {
      const Shape& shape = c.input(at + i).shape();
      if (shape.rank() != 0) return invalid_argument(cat(kNames[i], " must be 0-D, got shape ", shape.to_string()));
    }
    return IntegerRange{int_at(c.input(at), 0), int_at(c.input(at + 1), 0)};
  }
  Status check() const {
    return low < high ? ok_status() : invalid_argument(cat("Need minval < maxval, got ", low, " >= ", high));
  }
};

template <class T>
Status draw_integers(KernelContext& c, const StreamSource& source, const IntegerRange& range, int64_t n) {
  return launch(Barriers::kNone, integers_kernel<T>, grid_for(n, int64_t{kThreads} * kPhiloxGroup<T>), kThreads, 0,
                stream_of(c), source, range.low, static_cast<uint64_t>(range.high) - static_cast<uint64_t>(range.low),
                c.out<T>(0), n);
}

template <class T>
class RandomInteger final : public Kernel {
 public:
  explicit RandomInteger(const KernelInit& init) : state_(init) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const IntegerRange range, IntegerRange::of(c, 1));
    ASSIGN_OR_RETURN(const int64_t n, output_of_shape(c));
    if (n == 0) return ok_status();
    RETURN_IF_ERROR(range.check());
    return draw_integers<T>(c, {state_.reserve(kBlocksPerElement * static_cast<uint64_t>(n))}, range, n);
  }

 private:
  RandomState state_;
};

/// Inputs 1 to 3: key and counter in device memory, the algorithm's number in the host's.
Result<StreamSource> stream_of_counter(const KernelContext& c) {
  constexpr int64_t kPhilox = 1, kAutomatic = 3;
  const int64_t alg = int_at(c.input(3), 0);
  if (alg != kPhilox && alg != kAutomatic) return invalid_argument(cat("Unsupported algorithm id: ", alg));
  if (c.input(2).num_elements() < 2) {
    return invalid_argument(
        cat("counter must be a vector with at least 2 elements; got shape: ", c.input(2).shape().to_string()));
  }
  StreamSource source;
  source.key = c.in<uint64_t>(1);
  source.counter = c.in<uint64_t>(2);
  return source;
}

/// By the op's inputs: a seed, or a stream.
Result<StreamSource> source_of(const KernelContext& c, bool from_counter) {
  if (from_counter) return stream_of_counter(c);
  StreamSource source;
  ASSIGN_OR_RETURN(source.known, philox_from_seed(c.input(1)));
  return source;
}

template <class T>
class StatelessRandom final : public Kernel {
 public:
  explicit StatelessRandom(const KernelInit& init)
      : from_counter_(init.op.ends_with("V2")), distribution_(distribution_of(init.op)) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const StreamSource source, source_of(c, from_counter_));
    ASSIGN_OR_RETURN(const int64_t n, output_of_shape(c));
    return draw<T>(c, source, distribution_, n);
  }

 private:
  bool from_counter_;
  Distribution distribution_;
};

template <class T>
class StatelessWords final : public Kernel {
 public:
  explicit StatelessWords(const KernelInit& init) : from_counter_(init.op.ends_with("V2")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const StreamSource source, source_of(c, from_counter_));
    ASSIGN_OR_RETURN(const int64_t n, output_of_shape(c));
    return launch(Barriers::kNone, words_kernel<T>, grid_for(n, int64_t{kThreads} * kPhiloxGroup<T>), kThreads, 0,
                  stream_of(c), source, static_cast<T*>(c.output(0).raw()), n);
  }

 private:
  bool from_counter_;
};

Result<std::unique_ptr<Kernel>> make_words(const KernelInit& init) {
  return storage_size(init.output_types[0]) == 8 ? make<StatelessWords<uint64_t>>(init)
                                                 : make<StatelessWords<uint32_t>>(init);
}

template <class T>
class StatelessInteger final : public Kernel {
 public:
  explicit StatelessInteger(const KernelInit& init) : from_counter_(init.op.ends_with("V2")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const StreamSource source, source_of(c, from_counter_));
    ASSIGN_OR_RETURN(const int64_t n, output_of_shape(c));
    if (n == 0) return ok_status();
    ASSIGN_OR_RETURN(const IntegerRange range, IntegerRange::of(c, c.num_inputs() - 2));
    RETURN_IF_ERROR(range.check());
    return draw_integers<T>(c, source, range, n);
  }

 private:
  bool from_counter_;
};

/// Classes drawn with probabilities proportional to exp(logit): a block makes a row's running sums, then its threads
/// draw.
template <class T, class Index>
__global__ void multinomial_kernel(const T* logits, double* running, PhiloxStream stream, Index* y, int64_t classes,
                                   int64_t samples) {
  EMPLACE_BLOCK_SHARED(double, slots, [kThreads]);
  logits += blockIdx.x * classes;
  running += blockIdx.x * classes;
  double top = std::numeric_limits<double>::lowest();
  for (int64_t j = threadIdx.x; j < classes; j += kThreads) {
    const double x = static_cast<double>(widen(logits[j]));
    if (std::fabs(x) < std::numeric_limits<double>::infinity() && x > top) top = x;
  }
  top = combine_block(top, slots, [](double a, double b) { return a > b ? a : b; });
  // Each thread sums some classes side by side, then what stands before them is added.
  const int64_t piece = (classes + kThreads - 1) / kThreads, begin = threadIdx.x * piece,
                end = begin + piece < classes ? begin + piece : classes;
  double sum = 0;
  for (int64_t j = begin; j < end; ++j) {
    const double x = static_cast<double>(widen(logits[j]));
    if (std::fabs(x) < std::numeric_limits<double>::infinity()) sum += std::exp(x - top);
    running[j] = sum;
  }
  __syncthreads();
  slots[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    double before = 0;
    for (unsigned t = 0; t < kThreads; ++t) {
      const double own = slots[t];
      slots[t] = before;
      before += own;
    }
  }
  __syncthreads();
  for (int64_t j = begin; j < end; ++j) running[j] += slots[threadIdx.x];
  __syncthreads();
  const double total = running[classes - 1];
  for (int64_t i = threadIdx.x; i < samples; i += kThreads) {
    const int64_t draw = blockIdx.x * samples + i;
    const auto w = stream.block(static_cast<uint64_t>(draw / 2));
    const double wanted = (draw % 2 == 0 ? uniform_double(w[0], w[1]) : uniform_double(w[2], w[3])) * total;
    int64_t low = 0, high = classes;  // the first class whose sum is beyond
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (running[middle] > wanted)
        high = middle;
      else
        low = middle + 1;
    }
    y[draw] = static_cast<Index>(low);
  }
}

/// Multinomial; StatelessMultinomial, whose seed is in host memory.
template <class T>
class Multinomial final : public Kernel {
 public:
  explicit Multinomial(const KernelInit& init) {
    if (!init.op.starts_with("Stateless")) state_.emplace(init);
  }
  Status prepare(KernelContext& c) override {
    running_bytes_ = scratch_bytes(c.input(0).num_elements() * static_cast<int64_t>(sizeof(double)));
    return ok_status();
  }
  Workspace workspace() const override { return {running_bytes_}; }
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    const int64_t rows = shape.dim(0), classes = shape.dim(1), samples = int_at(c.input(1), 0);
    if (samples < 0) return invalid_argument(cat("num_samples should be nonnegative, got ", samples));
    if (classes <= 0) return invalid_argument(cat("num_classes should be positive, got ", classes));
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, Shape{rows, samples}));
    ASSIGN_OR_RETURN(const PhiloxStream stream, stream_for(c, static_cast<uint64_t>(rows * ((samples + 3) / 4 * 4))));
    ASSIGN_OR_RETURN(Tensor running, c.allocate_scratch(DType::kDouble, shape));
    return c.output(0).dtype() == DType::kInt32 ? sample<int32_t>(c, running, stream)
                                                : sample<int64_t>(c, running, stream);
  }

 private:
  Result<PhiloxStream> stream_for(const KernelContext& c, uint64_t numbers) {
    if (!state_) return philox_from_seed(c.input(2));
    return state_->reserve(2 * kBlocksPerElement * numbers);
  }

  template <class Index>
  Status sample(KernelContext& c, const Tensor& running, const PhiloxStream& stream) const {
    const Shape &shape = c.input(0).shape(), &out = c.output(0).shape();
    return launch(Barriers::kBlock, multinomial_kernel<T, Index>, dim3(static_cast<unsigned>(shape.dim(0))), kThreads,
                  0, stream_of(c), c.in<T>(0), running.data<double>(), stream, c.out<Index>(0), shape.dim(1),
                  out.dim(1));
  }
  std::optional<RandomState> state_;
  int64_t running_bytes_ = 0;
};

/// One thread: the state's three words as they were, if somebody wants them; then its counter moves on.
__global__ void skip_kernel(int64_t* state, int64_t* before, uint64_t blocks) {
  if (thread_index() != 0) return;
  for (int64_t i = 0; before && i < kRngStateWords; ++i) before[i] = state[i];
  move_rng_counter(state, blocks);
}

/// RngReadAndSkip, RngSkip: the state is in device memory, what is taken of it in the host's.
Status skip_numbers(KernelContext& c) {
  RETURN_IF_ERROR(check_rng_algorithm(int_at(c.input(1), 0)));
  Variable& v = c.variable(0);
  std::lock_guard lock(v.mutex);
  RETURN_IF_ERROR(check_rng_state(v));
  RETURN_IF_ERROR(own_variable(c, v));
  const uint64_t blocks = static_cast<const uint64_t*>(c.input(2).raw())[0] * kRngBlocksPerNumber;
  int64_t* const before = c.num_outputs() > 0 ? c.out<int64_t>(0) : nullptr;
  return launch(Barriers::kNone, skip_kernel, dim3(1), 1, 0, stream_of(c), v.value.data<int64_t>(), before, blocks);
}

/// Numbers of the stream that a variable in device memory holds: where the state is as it was before they were taken.
struct TakenNumbers {
  Tensor state;
  StreamSource source;
};
Result<TakenNumbers> take_numbers(KernelContext& c, int64_t n) {
  RETURN_IF_ERROR(check_rng_algorithm(int_at(c.input(1), 0)));
  ASSIGN_OR_RETURN(Tensor before, c.allocate_scratch(DType::kInt64, Shape{kRngStateWords}));
  Variable& v = c.variable(0);
  std::lock_guard lock(v.mutex);
  RETURN_IF_ERROR(check_rng_state(v));
  RETURN_IF_ERROR(own_variable(c, v));
  RETURN_IF_ERROR(launch(Barriers::kNone, skip_kernel, dim3(1), 1, 0, stream_of(c), v.value.data<int64_t>(),
                         before.data<int64_t>(), static_cast<uint64_t>(n) * kRngBlocksPerNumber));
  TakenNumbers taken;
  taken.source.counter = static_cast<const uint64_t*>(before.raw());
  taken.source.key = taken.source.counter + 2;
  taken.state = std::move(before);
  return taken;
}

/// Inputs: the variable, the algorithm, a shape.
Result<int64_t> output_of_stateful(KernelContext& c) {
  if (const DType t = c.input(2).dtype(); t != DType::kInt32 && t != DType::kInt64)
    return invalid_argument(cat("shape must be a vector of {int32,int64}, not of ", dtype_name(t)));
  return output_of_shape(c, 2);
}

template <class T>
class StatefulRandom final : public Kernel {
 public:
  explicit StatefulRandom(const KernelInit& init) : distribution_(distribution_of(init.op)) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const int64_t n, output_of_stateful(c));
    ASSIGN_OR_RETURN(const TakenNumbers taken, take_numbers(c, n));
    return draw<T>(c, taken.source, distribution_, n);
  }

 private:
  Distribution distribution_;
};

template <class T>
class StatefulInteger final : public Kernel {
 public:
  explicit StatefulInteger(const KernelInit&) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const IntegerRange range, IntegerRange::of(c, 3));
    RETURN_IF_ERROR(range.check());
    ASSIGN_OR_RETURN(const int64_t n, output_of_stateful(c));
    ASSIGN_OR_RETURN(const TakenNumbers taken, take_numbers(c, n));
    return draw_integers<T>(c, taken.source, range, n);
  }
};

template <class T>
Status draw_stateful_words(KernelContext& c) {
  ASSIGN_OR_RETURN(const int64_t n, output_of_stateful(c));
  ASSIGN_OR_RETURN(const TakenNumbers taken, take_numbers(c, n));
  return launch(Barriers::kNone, words_kernel<T>, grid_for(n, int64_t{kThreads} * kPhiloxGroup<T>), kThreads, 0,
                stream_of(c), taken.source, static_cast<T*>(c.output(0).raw()), n);
}
Result<std::unique_ptr<Kernel>> make_stateful_words(const KernelInit& init) {
  return storage_size(init.output_types[0]) == 8 ? stateless<draw_stateful_words<uint64_t>>(init)
                                                 : stateless<draw_stateful_words<uint32_t>>(init);
}

}  // namespace

void add_random(KernelTable& table) {
  for (auto op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    table.add(op, kFloating, by_output<Random, float, double, half, bfloat16>);
  }
  for (auto op : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal",
                  "StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"}) {
    table.add(op, kFloating, by_output<StatelessRandom, float, double, half, bfloat16>);
  }
  constexpr DTypeSet kDrawn{DType::kInt32, DType::kInt64};
  table.add("RandomUniformInt", kDrawn, by_output<RandomInteger, int32_t, int64_t>);
  for (auto op : {"StatelessRandomUniformInt", "StatelessRandomUniformIntV2"})
    table.add(op, kDrawn, by_output<StatelessInteger, int32_t, int64_t>);
  constexpr DTypeSet kUnsigned{DType::kUInt32, DType::kUInt64};
  for (auto op : {"StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2"})
    table.add(op, kDrawn | kUnsigned, make_words);
  for (auto op : {"StatefulUniform", "StatefulStandardNormalV2", "StatefulTruncatedNormal"})
    table.add(op, kFloating, by_output<StatefulRandom, float, double, half, bfloat16>);
  table.add("StatefulUniformInt", kDrawn, by_output<StatefulInteger, int32_t, int64_t>);
  table.add("StatefulUniformFullInt", kDrawn | kUnsigned, make_stateful_words);
  table.add("RngReadAndSkip", kAnyType, stateless<skip_numbers>);
  table.add("RngSkip", kAnyType, stateless<skip_numbers>);
  for (auto op : {"Multinomial", "StatelessMultinomial"})
    table.add(op, kFloating, by_input<0, Multinomial, float, double, half, bfloat16>);
}

}  // namespace emplace::cuda
