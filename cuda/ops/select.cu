// Select and SelectV2; MatrixBandPart; OneHot; Range; ConjugateTranspose.
#include <cmath>

#include "core/base/cat.h"
#include "core/ops/kit/strided_copy.h"
#include "cuda/broadcast.h"
#include "cuda/elementwise.h"
#include "cuda/moving.h"
#include "cuda/typed.h"

namespace emplace::cuda {
namespace {

/// A thread makes one element, or, where the plan is one of packs, a pack.
template <class E>
__global__ void select_kernel(const bool* condition, const E* a, const E* b, E* y, Broadcast<3> plan, bool packs) {
  constexpr int N = kPackSize<E>;
  const int64_t i = thread_index();
  if (i >= plan.elements) return;
  const auto from = plan.offsets(i);
  if (!packs) {
    y[i] = condition[from.at[0]] ? a[from.at[1]] : b[from.at[2]];
    return;
  }
  auto pack = [&]<class T>(int k, const T* x) {
    return plan.stride[k][0] == 0 ? filled_pack<T, N>(x + from.at[k]) : load_pack<N>(x + from.at[k]);
  };
  const Pack<bool, N> choice = pack(0, condition);
  const Pack<E, N> first = pack(1, a), second = pack(2, b);
  Pack<E, N> out;
  EMPLACE_UNROLL for (int j = 0; j < N; ++j) out.at[j] = choice.at[j] ? first.at[j] : second.at[j];
  store_pack(y + i * N, out);
}

template <class E>
class Select final : public Kernel {
 public:
  explicit Select(const KernelInit& init) : by_rows_(init.op == "Select") {}
  Status prepare(KernelContext& c) override {
    Shape condition = c.input(0).shape();
    const Shape& data = c.input(1).shape();
    if (by_rows_ && condition.rank() == 1) {
      for (int d = 1; d < data.rank(); ++d) condition.add_dim(1);
    }
    ASSIGN_OR_RETURN(plan_, plan_broadcast<3>({&condition, &data, &c.input(2).shape()}, c.output(0).shape()));
    packs_ = plan_.pack(kPackSize<E>);
    return ok_status();
  }
  Status run(KernelContext& c) override {
    return launch(Barriers::kNone, select_kernel<E>, grid_for(plan_.elements), kThreads, 0, stream_of(c), c.in<bool>(0),
                  c.in<E>(1), c.in<E>(2), c.out<E>(0), plan_, packs_);
  }

 private:
  bool by_rows_, packs_ = false;
  Broadcast<3> plan_;
};

template <class E>
__global__ void band_kernel(const E* x, E* y, int64_t n, IndexDivisor rows, IndexDivisor columns, int64_t lower,
                            int64_t upper) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t matrix = i;
    const int64_t column = columns.split(matrix), row = rows.split(matrix);
    const bool inside = (lower < 0 || column >= row - lower) && (upper < 0 || column <= row + upper);
    y[i] = inside ? x[i] : E();
  }
}

/// Row r keeps columns [r - lower, r + upper]; negative: all on that side.
template <class E>
class MatrixBandPart final : public Kernel {
 public:
  explicit MatrixBandPart(const KernelInit&) {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    if (shape.rank() < 2) return invalid_argument("input must be at least 2-dim, received shape: " + shape.to_string());
    for (int i : {1, 2}) {
      if (c.input(i).shape().rank() == 0) continue;
      return invalid_argument(
          cat(i == 1 ? "num_lower" : "num_upper", " must be scalar, got shape ", c.input(i).shape().to_string()));
    }
    const int64_t rows = shape.dim_from_end(2), columns = shape.dim_from_end(1), lower = int_at(c.input(1), 0),
                  upper = int_at(c.input(2), 0);
    if (lower > rows) {
      return invalid_argument(
          cat("num_lower must be negative or less or equal to number of rows (", rows, ") got: ", lower));
    }
    if (upper > columns) {
      return invalid_argument(
          cat("num_upper must be negative or less or equal to number of columns (", columns, ") got: ", upper));
    }
    const int64_t n = shape.num_elements();
    return launch(Barriers::kNone, band_kernel<E>, grid_for(n), kThreads, 0, stream_of(c), c.in<E>(0), c.out<E>(0), n,
                  IndexDivisor(rows, n), IndexDivisor(columns, n), lower, upper);
  }
};

template <class E, class Index>
__global__ void one_hot_kernel(const Index* classes, const E* on, const E* off, E* y, int64_t n, IndexDivisor depth,
                               IndexDivisor inner) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    int64_t outer = i;
    const int64_t within = inner.split(outer), wanted = depth.split(outer);
    y[i] = static_cast<int64_t>(classes[outer * inner.divisor + within]) == wanted ? *on : *off;
  }
}

template <class E>
class OneHot final : public Kernel {
 public:
  explicit OneHot(const KernelInit& init) : axis_(init.attrs.integer("axis")) {}
  Status run(KernelContext& c) override {
    const Shape& s = c.input(0).shape();
    if (axis_ < -1 || axis_ > s.rank()) {
      return invalid_argument(cat("Expected axis to be -1 or between [0, ", s.rank() + 1, ").  But received: ", axis_));
    }
    constexpr std::string_view kScalars[] = {"depth", "on_value", "off_value"};
    for (int i = 1; i <= 3; ++i) {
      if (c.input(i).shape().rank() == 0) continue;
      return invalid_argument(cat(kScalars[i - 1], " must be a scalar, but got: ", c.input(i).shape().to_string()));
    }
    const int64_t depth = int_at(c.input(1), 0);
    if (depth < 0) return invalid_argument(cat("depth must be non-negative, got: ", depth));
    const int axis = axis_ == -1 ? s.rank() : static_cast<int>(axis_);
    Shape shape;
    int64_t inner = 1;
    for (int d = 0; d < s.rank(); ++d) {
      if (d == axis) shape.add_dim(depth);
      if (d >= axis) inner *= s.dim(d);
      shape.add_dim(s.dim(d));
    }
    if (axis == s.rank()) shape.add_dim(depth);
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, shape));
    switch (c.input(0).dtype()) {
      case DType::kInt8:
        return fill<int8_t>(c, depth, inner);
      case DType::kUInt8:
        return fill<uint8_t>(c, depth, inner);
      case DType::kInt32:
        return fill<int32_t>(c, depth, inner);
      default:
        return fill<int64_t>(c, depth, inner);
    }
  }

 private:
  template <class Index>
  static Status fill(KernelContext& c, int64_t depth, int64_t inner) {
    const int64_t n = c.output(0).num_elements();
    return launch(Barriers::kNone, one_hot_kernel<E, Index>, grid_for(n), kThreads, 0, stream_of(c), c.in<Index>(0),
                  c.in<E>(2), c.in<E>(3), c.out<E>(0), n, IndexDivisor(depth, n), IndexDivisor(inner, n));
  }
  int64_t axis_;
};

template <class T>
__global__ void range_kernel(T start, T delta, T* y, int64_t n) {
  using W = Wide<T>;
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) {
    if constexpr (std::is_integral_v<T>)
      y[i] = add(start, multiply(static_cast<T>(i), delta));
    else
      y[i] = narrow<T>(widen(start) + rounded<T>(multiply(rounded<T>(static_cast<W>(i)), widen(delta))));
  }
}

/// start, limit and delta are in host memory; the CPU's kernel would count and check the same.
template <class T>
class Range final : public Kernel {
 public:
  explicit Range(const KernelInit&) {}
  Status run(KernelContext& c) override {
    for (int i = 0; i < 3; ++i) {
      if (c.input(i).num_elements() == 1) continue;
      return invalid_argument("start, limit and delta must be scalars, not shape " + c.input(i).shape().to_string());
    }
    const T start = *c.in<T>(0), delta = *c.in<T>(2);
    ASSIGN_OR_RETURN(const int64_t n, count(widen(start), widen(*c.in<T>(1)), widen(delta)));
    if (c.output(0).raw() == nullptr || c.output(0).num_elements() != n)
      RETURN_IF_ERROR(c.allocate_output(0, Shape{n}));
    return launch(Barriers::kNone, range_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), start, delta, c.out<T>(0),
                  n);
  }

 private:
  using W = Wide<T>;
  static Result<int64_t> count(W start, W limit, W delta) {
    if (start > limit && delta > W(0)) return invalid_argument("Requires start <= limit when delta > 0");
    if (start < limit && delta < W(0)) return invalid_argument("Requires start >= limit when delta < 0");
    if (delta == W(0)) return invalid_argument("Requires delta != 0");
    if constexpr (std::is_integral_v<T>) {
      const auto span = static_cast<uint64_t>(limit > start ? subtract(limit, start) : subtract(start, limit));
      const auto step = static_cast<uint64_t>(delta > 0 ? delta : subtract(T(0), delta));
      const uint64_t n = span / step + (span % step != 0 ? 1 : 0);
      if (n <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(n);
    } else {
      const auto n = static_cast<double>(std::ceil(std::fabs(rounded<T>(rounded<T>(limit - start) / delta))));
      if (n < 9.2e18) return static_cast<int64_t>(n);
    }
    return invalid_argument("Requires ((limit - start) / delta) <= 9223372036854775807");
  }
};

template <class T>
__global__ void conjugate_kernel(T* y, int64_t n) {
  EMPLACE_ROLLED for (int64_t i = thread_index(); i < n; i += thread_count()) y[i] = conjugate(y[i]);
}

/// Of complex numbers: transposed, then conjugated where it lies.
template <class T>
class ConjugateTranspose final : public Kernel {
 public:
  explicit ConjugateTranspose(const KernelInit&) {}
  Status run(KernelContext& c) override {
    const Shape& in = c.input(0).shape();
    const auto strides = row_major_strides(in);
    const std::vector<int64_t> perm = ints_of(c.input(1));
    std::vector<bool> seen(strides.size());
    Shape out;
    for (int64_t d : perm) {
      const size_t at = static_cast<size_t>(d < 0 ? d + in.rank() : d);
      if (perm.size() != strides.size() || at >= seen.size() || seen[at])
        return invalid_argument("perm is not a permutation of the dimensions");
      seen[at] = true;
      out.add_dim(in.dim(static_cast<int>(at)));
    }
    if (c.output(0).raw() == nullptr) RETURN_IF_ERROR(c.allocate_output(0, out));
    const int64_t n = out.num_elements();
    if (n == 0) return ok_status();
    const auto to = row_major_strides(out);
    std::vector<Mover::Axis> axes;
    for (size_t i = 0; i < perm.size(); ++i) {
      axes.push_back({out.dim(static_cast<int>(i)),
                      strides[static_cast<size_t>(perm[i] < 0 ? perm[i] + in.rank() : perm[i])], to[i]});
    }
    RETURN_IF_ERROR(enqueue_copy(stream_of(c), dtype_of<T>, axes, c.input(0).raw(), c.output(0).raw()));
    return launch(Barriers::kNone, conjugate_kernel<T>, grid_for(n), kThreads, 0, stream_of(c), c.out<T>(0), n);
  }
};

}  // namespace

void add_select(KernelTable& table) {
  constexpr DTypeSet kData = kNumbersAndBool;
  table.add("Select", kData, sized_by_input<1, Select>);
  table.add("SelectV2", kData, sized_by_input<1, Select>);
  table.add("MatrixBandPart", kData, sized_by_input<0, MatrixBandPart>);
  table.add("OneHot", kData, sized_by_output<OneHot>);
  table.add("Range", kFloating | DTypeSet{DType::kInt64}, by_output<Range, float, double, half, bfloat16, int64_t>);
  table.add_host_code("Range", kHostInt32);
  table.add("ConjugateTranspose", kComplexes, by_input<0, ConjugateTranspose, complex64, complex128>);
}

}  // namespace emplace::cuda
