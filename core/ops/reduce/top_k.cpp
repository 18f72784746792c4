// TopKV2, ApproxTopK: the largest elements of each row and where they are. On CPUs and GPUs, TensorFlow's ApproxTopK is
// exact.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status top_k_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape in, c.with_rank_at_least(0, 1));
  RETURN_IF_ERROR(c.with_rank(1, 0).take_status());
  int64_t k = -1;
  if (const Tensor* value = c.input_value(1)) {
    k = value->dtype() == DType::kInt16 ? *value->data<int16_t>() : int_at(*value, 0);
    if (k < 0) return invalid_argument(cat("Dimension size, given by scalar input 1, must be non-negative but is ", k));
  }
  int64_t last = dim_or_unknown(in, -1);
  if (last >= 0 && k >= 0 && last < k) {
    return invalid_argument(cat("input must have last dimension >= k = ", k, " but is ", last));
  }
  ASSIGN_OR_RETURN(Shape rows, subshape(in, 0, -1));
  Shape out = concat_shapes(rows, Shape{k});
  c.set_output(0, out);
  c.set_output(1, out);
  return ok_status();
}

Status approx_top_k_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape in, c.with_rank_at_least(0, 1));
  const int64_t k = c.attrs().integer("k"), last = dim_or_unknown(in, -1);
  const float recall = c.attrs().number("recall_target");
  if (recall <= 0 || recall > 1) return invalid_argument(cat("recall_target ", recall, " is not in (0, 1]"));
  // Also of a size that is not known, as in TensorFlow.
  if (last < k) return invalid_argument(cat("input must have last dimension >= k = ", k, " but is ", last));
  ASSIGN_OR_RETURN(const Shape rows, subshape(in, 0, -1));
  const Shape out = concat_shapes(rows, Shape{c.attrs().flag("aggregate_to_topk") ? k : -1});
  c.set_output(0, out);
  c.set_output(1, out);
  return ok_status();
}

// Small types are compared as a wider one of their kind.
template <class T>
auto widened(T v) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    return v;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<int64_t>(v);
  } else {
    return static_cast<uint64_t>(v);
  }
}

// The k largest first; of equal ones the earlier; NaN behind every number.
template <class W>
void choose(const ScratchVector<W>& row, ScratchVector<int32_t>& order, int64_t k) {
  std::iota(order.begin(), order.end(), 0);
  auto before = [&](int32_t a, int32_t b) {
    W x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    if constexpr (std::is_floating_point_v<W>) {
      bool x_nan = std::isnan(x), y_nan = std::isnan(y);
      if (x_nan != y_nan) return y_nan;
      if (x_nan) return a < b;
    }
    return x != y ? x > y : a < b;
  };
  if (k == 1) {
    order[0] = *std::min_element(order.begin(), order.end(), before);
  } else {
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
  }
}

// The k largest in the order in which TensorFlow's heap leaves them.
template <class W>
void choose_unsorted(const ScratchVector<W>& row, ScratchVector<int32_t>& order, int64_t k) {
  auto before = [&](int32_t a, int32_t b) {
    W x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  ScratchVector<int32_t> heap;
  for (int32_t i = 0; i < static_cast<int32_t>(row.size()); ++i) {
    if (i <= k) {
      heap.push_back(i);
      if (i < k) continue;
      std::make_heap(heap.begin(), heap.end(), before);
      std::pop_heap(heap.begin(), heap.end(), before);
      heap.pop_back();
    } else if (before(i, heap.front())) {
      std::pop_heap(heap.begin(), heap.end(), before);
      heap.back() = i;
      std::push_heap(heap.begin(), heap.end(), before);
    }
  }
  std::copy_n(heap.begin(), k, order.begin());
}

template <class T>
void top_rows(const T* in, T* values, int64_t columns, int64_t k, bool sorted, int64_t begin, int64_t end,
              const auto& set_index) {
  ScratchVector<decltype(widened(T{}))> row(static_cast<size_t>(columns));
  ScratchVector<int32_t> order(row.size());
  for (int64_t r = begin; r < end; ++r) {
    std::transform(in + r * columns, in + (r + 1) * columns, row.begin(), widened<T>);
    sorted || k == columns || k == 1 ? choose(row, order, k) : choose_unsorted(row, order, k);
    for (int64_t i = 0; i < k; ++i) {
      values[r * k + i] = in[r * columns + order[static_cast<size_t>(i)]];
      set_index(r * k + i, order[static_cast<size_t>(i)]);
    }
  }
}

Result<int64_t> wanted_count(const Tensor& wanted) {
  if (wanted.num_elements() != 1) return invalid_argument("k must be scalar, got shape " + wanted.shape().to_string());
  return wanted.dtype() == DType::kInt16 ? int64_t{*wanted.data<int16_t>()} : int_at(wanted, 0);
}

template <class T>
Status top_k(KernelContext& c, int64_t k, bool sorted) {
  const Tensor& in = c.input(0);
  if (in.shape().rank() < 1) return invalid_argument("input must be >= 1-D, got shape []");
  int64_t columns = in.shape().dim_from_end(1);
  if (k < 0) return invalid_argument(cat("Need k >= 0, got ", k));
  if (columns < k) return invalid_argument(cat("input must have at least k columns. Had ", columns, ", needed ", k));
  if (columns > INT32_MAX) return invalid_argument("input has too many columns");
  Shape shape = in.shape();
  shape.dim(shape.rank() - 1) = k;
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  RETURN_IF_ERROR(ensure_output(c, 1, shape));
  if (c.output(0).num_elements() == 0) return ok_status();
  Tensor& indices = c.output(1);
  auto set_index = [&](int64_t at, int32_t index) {
    switch (indices.dtype()) {
      case DType::kInt64:
        indices.data<int64_t>()[at] = index;
        break;
      case DType::kInt16:
        indices.data<int16_t>()[at] = static_cast<int16_t>(index);
        break;
      default:
        indices.data<int32_t>()[at] = index;
    }
  };
  c.parallel_for(in.num_elements() / columns, 5.0 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
    top_rows(c.in<T>(0), c.out<T>(0), columns, k, sorted, begin, end, set_index);
  });
  return ok_status();
}

template <class T>
class TopK final : public Kernel {
 public:
  explicit TopK(const KernelInit& init) : sorted_(init.attrs.flag("sorted")) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const int64_t k, wanted_count(c.input(1)));
    return top_k<T>(c, k, sorted_);
  }

 private:
  bool sorted_;
};

template <class T>
class ApproxTopK final : public Kernel {
 public:
  explicit ApproxTopK(const KernelInit& init) : k_(init.attrs.integer("k")) {}
  Status run(KernelContext& c) override { return top_k<T>(c, k_, true); }

 private:
  int64_t k_;
};

// Row r of the indices names elements r * row_size + index of the flat input.
Status top_k_gradient(GradientContext& g) {
  Value x_shape = g.shape_of(g.input(0)), k_shape = g.shape_of(g.output(1));
  auto last_size = [&](Value shape) {
    Value at = g.add("Sub", {g.size_of(shape), g.index(1, "sub/y")}, {}, "sub");
    return g.gather(g.cast(shape, DType::kInt64), at);
  };
  Value k = last_size(k_shape);
  Value rows = g.reshape(g.output(1), g.pack({g.index(-1, "stack/0", DType::kInt64), k}));
  Value row_size = last_size(x_shape);
  Value count = g.element(g.shape_of(rows), 0);
  Value end = g.mul(g.cast(count, DType::kInt64), row_size);
  Value starts = g.expand_dims(g.range(g.index(0, "range/start", DType::kInt64), end, row_size), -1);
  Value flat = g.add("AddV2", {rows, g.cast(starts, g.type(rows))}, {}, "add");
  Value at = g.expand_dims(g.reshape(flat, std::vector<int64_t>{-1}), -1);
  Value size = g.pack({g.add("Prod", {g.cast(x_shape, g.type(at)), g.all_axes(x_shape)})});
  Value scattered = g.add("ScatterNd", {at, g.reshape(g.grad(0), std::vector<int64_t>{-1}), size});
  g.set(0, g.reshape(scattered, x_shape));
  return g.status();
}

// Of output element (i, j, ...), the place in the input: its own along all dimensions but the last.
Status approx_top_k_gradient(GradientContext& g) {
  const Shape &out = g.shape(g.output(1)), &in = g.shape(g.input(0));
  if (!out.fully_known() || !in.fully_known()) {
    return unimplemented(cat("the gradient of ApproxTopK of shape ", in.to_string(),
                             ": TensorFlow has it for shapes that are known before the run"));
  }
  std::vector<int64_t> lifted(out.dims().begin(), out.dims().end());
  lifted.push_back(1);
  std::vector<Value> places;
  for (int d = 0; d + 1 < out.rank(); ++d) {
    std::vector<int64_t> along(lifted.size(), 1);
    along[static_cast<size_t>(d)] = out.dim(d);
    const Value numbers =
        g.range(g.index(0, "range/start"), g.index(out.dim(d), "range/limit"), g.index(1, "range/delta"));
    places.push_back(g.add("BroadcastTo", {g.reshape(numbers, along), g.ints(lifted, "BroadcastTo/shape")}));
  }
  places.push_back(g.reshape(g.output(1), lifted));
  if (places.size() > 1) {
    places.push_back(g.index(out.rank(), "concat/axis"));
    places = {g.add("ConcatV2", places, {}, "concat")};
  }
  const int64_t n = out.num_elements();
  const Value rows = g.reshape(places[0], std::vector<int64_t>{n, out.rank()});
  const Value arrived = g.reshape(g.grad(0), std::vector<int64_t>{n});
  g.set(0, g.add("ScatterNd", {rows, arrived, g.ints({in.dims().begin(), in.dims().end()}, "ScatterNd/shape")}));
  return g.status();
}

}  // namespace

OpDef approx_top_k_op() {
  return OpDef("ApproxTopK")
      .doc("The k largest elements of each row, largest first, and their indices; of equal elements the first.")
      .shape(approx_top_k_shape)
      .cpu<float>(make<ApproxTopK<float>>)
      .cpu<half>(make<ApproxTopK<half>>)
      .cpu<bfloat16>(make<ApproxTopK<bfloat16>>)
      .gradient(approx_top_k_gradient);
}
OpDef top_k_v2_op() {
  return OpDef("TopKV2")
      .doc("The k largest elements of each row, largest first, and their indices; of equal elements the first.")
      .shape(top_k_shape)
      .cpu<float>(make<TopK<float>>)
      .cpu<double>(make<TopK<double>>)
      .cpu<half>(make<TopK<half>>)
      .cpu<bfloat16>(make<TopK<bfloat16>>)
      .cpu<int8_t>(make<TopK<int8_t>>)
      .cpu<int16_t>(make<TopK<int16_t>>)
      .cpu<int32_t>(make<TopK<int32_t>>)
      .cpu<int64_t>(make<TopK<int64_t>>)
      .cpu<uint8_t>(make<TopK<uint8_t>>)
      .cpu<uint16_t>(make<TopK<uint16_t>>)
      .cpu<uint32_t>(make<TopK<uint32_t>>)
      .cpu<uint64_t>(make<TopK<uint64_t>>)
      .value_inputs({1})
      .gradient(top_k_gradient);
}

}  // namespace emplace
