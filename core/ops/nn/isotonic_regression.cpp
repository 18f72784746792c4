// IsotonicRegression: the nearest rows that do not rise, by pools of neighbours (PAVA).
#include <vector>

#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status isotonic_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  c.set_output(1, c.input(0));
  return ok_status();
}

/// Neighbours that have their mean in common; sums are of the output's type.
template <class O>
struct Pool {
  O sum, mean;
  int64_t begin, end;
};

template <class T, class O>
void lower_row(const T* in, O* out, int32_t* segments, int64_t n, ScratchVector<Pool<O>>& pools) {
  using W = std::conditional_t<kIsHalf<O>, float, O>;
  pools.clear();
  for (int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<O>(static_cast<W>(in[i]));
    pools.push_back({x, x, i, i + 1});
    while (pools.size() > 1 && static_cast<W>(pools.back().mean) > static_cast<W>(pools[pools.size() - 2].mean)) {
      const Pool<O> last = pools.back();
      pools.pop_back();
      Pool<O>& pool = pools.back();
      pool.sum = static_cast<O>(static_cast<W>(pool.sum) + static_cast<W>(last.sum));
      pool.end = last.end;
      const auto count = static_cast<W>(static_cast<O>(static_cast<W>(pool.end - pool.begin)));
      pool.mean = static_cast<O>(static_cast<W>(pool.sum) / count);
    }
  }
  for (size_t p = 0; p < pools.size(); ++p) {
    for (int64_t i = pools[p].begin; i < pools[p].end; ++i) {
      out[i] = pools[p].mean;
      segments[i] = static_cast<int32_t>(p);
    }
  }
}

template <class T, class O>
Status isotonic_cpu(KernelContext& c) {
  const Shape& s = c.input(0).shape();
  const int64_t n = s.rank() > 0 ? s.dim_from_end(1) : 1, rows = n > 0 ? s.num_elements() / n : 0;
  c.parallel_for(rows, 10.0 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
    ScratchVector<Pool<O>> pools;
    pools.reserve(static_cast<size_t>(n));
    for (int64_t row = begin; row < end; ++row)
      lower_row(c.in<T>(0) + row * n, c.out<O>(0) + row * n, c.out<int32_t>(1) + row * n, n, pools);
  });
  return ok_status();
}

/// The output's type follows from the input's, although an attr says it.
template <class T, class O>
Result<std::unique_ptr<Kernel>> make_isotonic(const KernelInit& init) {
  if (init.output_types[0] == dtype_of<O>) return kernel_of_function(isotonic_cpu<T, O>);
  return invalid_argument(cat("output_dtype of IsotonicRegression must be ", dtype_tf_name(dtype_of<O>), " for ",
                              dtype_tf_name(dtype_of<T>), ", not ", dtype_tf_name(init.output_types[0])));
}

// Each segment of a row gets the mean of what came to it.
Status isotonic_gradient(GradientContext& g) {
  const Value dy = g.grad(0), segments = g.output(1);
  const Shape& shape = g.shape(dy);
  if (!shape.rank_known() || shape.rank() != 2 || shape.dim(0) < 1)
    return unimplemented("the gradient of IsotonicRegression for rows whose number is not known before the run");
  const DType t = g.type(dy);
  const int64_t rows = shape.dim(0);
  const AttrValue count = AttrValue::of(rows);
  const Value parts = g.add("Split", {g.index(0, "split/split_dim"), dy}, {{"num_split", count}}, "split");
  const Value ids = g.add("Split", {g.index(0, "split/split_dim"), segments}, {{"num_split", count}}, "split");
  std::vector<Value> means;
  for (int64_t i = 0; i < rows; ++i) {
    const Value part = parts.output(static_cast<uint32_t>(i)), id = ids.output(static_cast<uint32_t>(i));
    const Value most = g.add("Max", {id, g.ints({0, 1})}, {{"keep_dims", AttrValue::of(false)}});
    const Value length = g.add("AddV2", {most, g.index(1, "add/y")}, {}, "add");
    const Value lengths = g.add("UnsortedSegmentSum", {g.ones(g.shape_of(id), t), id, length});
    const Value sums = g.add("UnsortedSegmentSum", {part, id, length});
    const Value divisor = g.add("Maximum", {lengths, g.scalar(t, 1, "Maximum/y")});
    const Value mean = g.add("RealDiv", {sums, divisor}, {}, "truediv");
    means.push_back(g.reshape(g.gather(mean, id), std::vector<int64_t>{-1}));
  }
  g.set(0, g.pack(means));
  return g.status();
}

}  // namespace

OpDef isotonic_regression_op() {
  return OpDef("IsotonicRegression")
      .doc("The rows nearest to the input's that do not rise, and which neighbours have one value in common.")
      .shape(isotonic_shape)
      .kernel_attr("T")
      .cpu<float>(make_isotonic<float, float>)
      .cpu<double>(make_isotonic<double, double>)
      .cpu<half>(make_isotonic<half, half>)
      .cpu<bfloat16>(make_isotonic<bfloat16, bfloat16>)
      .cpu<int8_t>(make_isotonic<int8_t, float>)
      .cpu<int16_t>(make_isotonic<int16_t, float>)
      .cpu<int32_t>(make_isotonic<int32_t, double>)
      .cpu<int64_t>(make_isotonic<int64_t, double>)
      .gradient(isotonic_gradient)
      .sample("input=f64[2,5] uniform(-2,2); output_dtype=float64");
}

}  // namespace emplace
