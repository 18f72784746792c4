// SegmentSum, Mean, Prod, Max, Min and the Unsorted forms: rows combined by the number they carry.
#include <type_traits>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/finite.h"
#include "core/ops/kit/index_text.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/row_ops.h"
#include "core/ops/kit/shape_math.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

Status segment_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape data, c.with_rank_at_least(0, 1));
  RETURN_IF_ERROR(c.with_rank(1, 1).take_status());
  ASSIGN_OR_RETURN(Shape row, subshape(data, 1));
  c.set_output(0, concat_shapes(Shape{-1}, row));
  return ok_status();
}

Status unsorted_segment_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  const Shape& ids = c.input(1);
  if (!ids.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(Shape data, c.with_rank_at_least(0, ids.rank()));
  for (int i = 0; data.rank_known() && i < ids.rank(); ++i) {
    RETURN_IF_ERROR(ShapeContext::merge_dim(data.dim(i), ids.dim(i)).take_status());
  }
  ASSIGN_OR_RETURN(int64_t segments, dim_from_scalar(c, 2));
  ASSIGN_OR_RETURN(Shape row, subshape(data, ids.rank()));
  c.set_output(0, concat_shapes(Shape{segments}, row));
  return ok_status();
}

template <class T>
inline constexpr bool kHasOrder = kIsFloating<T> || (std::is_integral_v<T> && !std::is_same_v<T, bool>);
template <class T>
inline constexpr bool kIsNumber = kHasOrder<T> || kIsComplex<T>;

// What an integer is converted to on its way to T.
template <class T>
using Real = std::conditional_t<kIsHalf<T>, float,
                                std::conditional_t<std::is_same_v<T, complex64>, float,
                                                   std::conditional_t<std::is_same_v<T, complex128>, double, T>>>;

struct Sum {
  using OfAnyNumber = void;
  static RowOp combine(DType t) { return row_add(t); }
  template <class T>
  static T start() {
    return T(0);
  }
};
struct Mean : Sum {};
struct Prod {
  using OfAnyNumber = void;
  static RowOp combine(DType t) { return row_multiply(t); }
  template <class T>
  static T start() {
    return T(1);
  }
};
// Of finite numbers, as in TensorFlow: the largest of nothing is the lowest, not -inf.
struct Max {
  static RowOp combine(DType t) { return row_maximum(t); }
  template <class T>
  static T start() {
    return Finite<T>::lowest();
  }
};
struct Min {
  static RowOp combine(DType t) { return row_minimum(t); }
  template <class T>
  static T start() {
    return Finite<T>::highest();
  }
};

// Every element is what the combination of no rows gives.
template <class R>
void fill_start(KernelContext& c, Tensor& out) {
  with_type(out.dtype(), [&]<class T>() {
    if constexpr (kHasOrder<T> || (kIsNumber<T> && requires { typename R::OfAnyNumber; })) {
      T start = R::template start<T>();
      fill_elements(*c.parallel_, out.dtype(), &start, out.raw(), out.num_elements());
    }
  });
}

// Output rows combine the data rows with their number; negative numbers count for nothing. Workers share the columns,
// so every combination is made in the order of the rows. `copy_first`: ids are sorted, and a segment starts as its
// first row.
void combine_rows(KernelContext& c, RowOp combine, bool copy_first) {
  const Tensor& data = c.input(0);
  const Tensor& ids = c.input(1);
  Tensor& out = c.output(0);
  int64_t n = ids.num_elements(), row = n > 0 ? data.num_elements() / n : 0;
  c.parallel_for(row, 0.5 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
    int64_t last = -1;
    for (int64_t i = 0; i < n; ++i) {
      int64_t id = index_at(ids, i);
      if (id < 0) continue;
      void* to = element_at(out, id * row + begin);
      const void* from = element_at(data, i * row + begin);
      copy_first&& id != last ? copy_elements(data.dtype(), from, to, end - begin) : combine(to, from, end - begin);
      last = id;
    }
  });
}

// Rows of sums become means; TensorFlow divides by the count in the elements' own type.
Status divide_by_counts(KernelContext& c) {
  const Tensor& ids = c.input(1);
  Tensor& out = c.output(0);
  int64_t row = out.num_elements() / out.shape().dim(0);
  Status status = ok_status();
  with_type(out.dtype(), [&]<class T>() {
    if constexpr (kIsNumber<T>) {
      for (int64_t i = 0; i < ids.num_elements();) {
        int64_t first = i, id = int_at(ids, i);
        while (i < ids.num_elements() && int_at(ids, i) == id) ++i;
        T count = static_cast<T>(static_cast<Real<T>>(i - first));
        if (std::is_integral_v<T> && count == T(0)) status = invalid_argument("Integer division by zero");
        if (!status.ok()) return;
        T* to = out.data<T>() + id * row;
        for (int64_t k = 0; k < row; ++k) {
          if constexpr (std::is_integral_v<T>) {
            to[k] = static_cast<T>(to[k] / count);
          } else {
            to[k] = divide(to[k], count);
          }
        }
      }
    }
  });
  return status;
}

template <class R>
Status segment_cpu(KernelContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& ids = c.input(1);
  if (data.shape().rank() < 1) return invalid_argument("data must be at least rank 1");
  int64_t rows = data.shape().dim(0);
  if (ids.shape().rank() != 1 || ids.num_elements() != rows) {
    return invalid_argument("segment_ids should be the same size as dimension 0 of input.");
  }
  for (int64_t i = 0; i < rows; ++i) {
    if (int_at(ids, i) < 0) return invalid_argument("segment ids must be >= 0");
    if (i > 0 && int_at(ids, i) < int_at(ids, i - 1)) return invalid_argument("segment ids are not increasing");
  }
  Shape shape = data.shape();
  if (rows > 0) {
    ASSIGN_OR_RETURN(shape.dim(0), add_dims(int_at(ids, rows - 1), 1));
  }
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  if (data.num_elements() == 0) return ok_status();
  // A number that no row carries gives zeros, of products ones.
  fill_start<std::conditional_t<std::is_same_v<R, Prod>, Prod, Sum>>(c, c.output(0));
  combine_rows(c, R::combine(data.dtype()), true);
  return std::is_same_v<R, Mean> ? divide_by_counts(c) : ok_status();
}

template <class R>
Status unsorted_segment_cpu(KernelContext& c) {
  const Tensor& data = c.input(0);
  const Tensor& ids = c.input(1);
  const Shape &d = data.shape(), &s = ids.shape();
  if (c.input(2).num_elements() != 1) {
    return invalid_argument(cat("num_segments should be a scalar, not shape ", c.input(2).shape().to_string()));
  }
  int64_t segments = int_at(c.input(2), 0);
  if (segments < 0)
    return invalid_argument("Input num_segments == " + std::to_string(segments) + " must not be negative.");
  bool prefix = s.rank() <= d.rank() && std::equal(s.dims().begin(), s.dims().end(), d.dims().begin());
  if (!prefix) {
    return invalid_argument(
        cat("data.shape = ", d.to_string(), " does not start with segment_ids.shape = ", s.to_string()));
  }
  Shape shape{segments};
  for (int i = s.rank(); i < d.rank(); ++i) shape.add_dim(d.dim(i));
  // TensorFlow looks at no id where there is nothing to add.
  for (int64_t i = 0; i < ids.num_elements() && data.num_elements() > 0; ++i) {
    if (index_at(ids, i) < segments) continue;
    return invalid_argument(cat("segment_ids", place_text(s, s.rank(), i), " = ", index_at(ids, i),
                                " is out of range [0, ", segments, ")"));
  }
  RETURN_IF_ERROR(ensure_output(c, 0, shape));
  fill_start<R>(c, c.output(0));
  if (c.output(0).num_elements() > 0) combine_rows(c, R::combine(data.dtype()), false);
  return ok_status();
}

template <class R>
OpDef sorted_op(std::string_view name, DTypeSet types, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(segment_shape)
      .cpu(types, stateless<segment_cpu<R>>)
      .sample("data=f32[5,3] uniform(-2,2); segment_ids=[0,0,2,2,3]")
      .sample("data=f32[0,3]; segment_ids=i32[0]");
}
template <class R>
OpDef unsorted_op(std::string_view name, DTypeSet types, std::string_view doc) {
  return OpDef(name)
      .doc(doc)
      .shape(unsorted_segment_shape)
      .cpu(types, stateless<unsorted_segment_cpu<R>>)
      .value_inputs({2})
      .sample("data=f32[5,3] uniform(-2,2); segment_ids=[3,0,-1,3,1]; num_segments=5")
      .sample("data=f32[0,3]; segment_ids=i32[0]; num_segments=2");
}

Status segment_sum_gradient(GradientContext& g) {
  g.set(0, g.gather(g.grad(0), g.input(1)));
  return g.status();
}

Status segment_mean_gradient(GradientContext& g) {
  Value others = g.add("Sub", {g.rank_of(g.input(0)), g.index(1, "sub/y")}, {}, "sub");
  Value ids_shape = g.shape_of(g.input(1));
  Value remaining = g.ones(g.expand_dims(others, 0), DType::kInt32);
  Value ones = g.ones(g.concat({ids_shape, remaining}), g.type(g.grad(0)));
  Value counts = g.add("SegmentSum", {ones, g.input(1)});
  g.set(0, g.gather(g.add("RealDiv", {g.grad(0), counts}, {}, "truediv"), g.input(1)));
  return g.status();
}

// Equal elements share the gradient.
Status segment_extremum_gradient(GradientContext& g) {
  Value zeros = g.zeros_like(g.input(0));
  Value chosen = g.add("Equal", {g.input(0), g.gather(g.output(0), g.input(1))});
  Value count = g.add("SegmentSum", {g.cast(chosen, g.type(g.grad(0))), g.input(1)});
  Value shares = g.gather(g.add("RealDiv", {g.grad(0), count}, {}, "truediv"), g.input(1));
  g.set(0, g.add("SelectV2", {chosen, shares, zeros}));
  return g.status();
}

// Rows of `params` for ids, which may be negative: then zeros. `clipped`: the ids, but not below 0; `present`: are
// they, in the shape of the rows.
struct PresentRows {
  Value clipped, present;
  Value of(GradientContext& g, Value params) const {
    Value rows = g.gather(params, clipped);
    return g.add("SelectV2", {present, rows, g.zeros_like(rows)});
  }
};
PresentRows present_rows(GradientContext& g, Value like) {
  Value ids = g.input(1);
  PresentRows rows;
  rows.clipped = g.add("Maximum", {ids, g.zeros_like(ids)});
  Value gathered = g.gather(like, rows.clipped);
  Value is_there = g.add("GreaterEqual", {ids, g.index(0, "GreaterEqual/y", g.type(ids))});
  Value rank = g.pack({g.add("Sub", {g.rank_of(gathered), g.rank_of(ids)}, {}, "sub")});
  Value form = g.concat({g.shape_of(ids), g.ones(rank, DType::kInt32)});
  Value all =
      g.add("Fill", {g.shape_of(gathered), g.constant(Tensor::scalar<bool>(true), "ones_like/Const")}, {}, "ones_like");
  rows.present = g.add("LogicalAnd", {g.reshape(is_there, form), all}, {}, "and");
  return rows;
}

Status unsorted_segment_sum_gradient(GradientContext& g) {
  g.set(0, present_rows(g, g.grad(0)).of(g, g.grad(0)));
  return g.status();
}

Status unsorted_segment_extremum_gradient(GradientContext& g) {
  PresentRows rows = present_rows(g, g.output(0));
  Value chosen = g.add("LogicalAnd", {g.add("Equal", {g.input(0), rows.of(g, g.output(0))}), rows.present});
  Value count = g.add("UnsortedSegmentSum", {g.cast(chosen, g.type(g.grad(0))), g.input(1), g.input(2)});
  Value shares = rows.of(g, g.add("RealDiv", {g.grad(0), count}, {}, "truediv"));
  g.set(0, g.add("SelectV2", {chosen, shares, g.zeros_like(shares)}));
  return g.status();
}

// Products without the element itself: the segment's divided by it; for a zero, the product of all that are not zero.
// `reduce(op, data)` is Segment<op> or UnsortedSegment<op> of data.
template <class F>
Status product_gradient(GradientContext& g, const F& reduce, Value ids, const PresentRows* rows) {
  Value data = g.input(0);
  const DType type = g.type(data);
  Value is_zero = g.add("Equal", {data, g.scalar(type, 0, "Equal/y")});
  Value zeros = reduce("Sum", g.cast(is_zero, DType::kInt32));
  Value many = g.add("Greater", {zeros, g.index(1, "Greater/y")});
  Value dy = g.add("SelectV2", {many, g.zeros_like(g.grad(0)), g.grad(0)});
  Value not_zero = g.add("SelectV2", {is_zero, g.ones(g.shape_of(data), type), data});
  Value of_others = g.gather(reduce("Prod", not_zero), ids);
  Value quotient = g.add("RealDiv", {g.gather(g.output(0), ids), not_zero}, {}, "truediv");
  Value partial = g.add("SelectV2", {is_zero, of_others, quotient});
  g.set(0, g.mul(rows ? rows->of(g, dy) : g.gather(dy, ids), partial));
  return g.status();
}

Status segment_prod_gradient(GradientContext& g) {
  auto reduce = [&](std::string_view op, Value data) { return g.add(cat("Segment", op), {data, g.input(1)}); };
  return product_gradient(g, reduce, g.input(1), nullptr);
}

Status unsorted_segment_prod_gradient(GradientContext& g) {
  auto reduce = [&](std::string_view op, Value data) {
    return g.add(cat("UnsortedSegment", op), {data, g.input(1), g.input(2)});
  };
  PresentRows rows = present_rows(g, g.grad(0));
  return product_gradient(g, reduce, rows.clipped, &rows);
}

}  // namespace

OpDef segment_sum_op() {
  return sorted_op<Sum>("SegmentSum", kNumbers,
                        "Row k is the sum of the rows of data whose segment id, which never falls, is k.")
      .gradient(segment_sum_gradient);
}
OpDef segment_mean_op() {
  return sorted_op<Mean>("SegmentMean", kNumbers,
                         "Row k is the mean of the rows of data whose segment id, which never falls, is k.")
      .gradient(segment_mean_gradient);
}
OpDef segment_prod_op() {
  return sorted_op<Prod>("SegmentProd", kNumbers,
                         "Row k is the product of the rows of data whose segment id, which never falls, is k.")
      .gradient(segment_prod_gradient);
}
OpDef segment_max_op() {
  return sorted_op<Max>(
             "SegmentMax", kRealNumbers,
             "Row k holds the largest elements of the rows of data whose segment id, which never falls, is k.")
      .gradient(segment_extremum_gradient);
}
OpDef segment_min_op() {
  return sorted_op<Min>(
             "SegmentMin", kRealNumbers,
             "Row k holds the smallest elements of the rows of data whose segment id, which never falls, is k.")
      .gradient(segment_extremum_gradient);
}
OpDef unsorted_segment_sum_op() {
  return unsorted_op<Sum>("UnsortedSegmentSum", kNumbers,
                          "Row k is the sum of the rows of data whose segment id is k; negative ids count for nothing.")
      .gradient(unsorted_segment_sum_gradient);
}
OpDef unsorted_segment_prod_op() {
  return unsorted_op<Prod>(
             "UnsortedSegmentProd", kNumbers,
             "Row k is the product of the rows of data whose segment id is k; negative ids count for nothing.")
      .gradient(unsorted_segment_prod_gradient);
}
OpDef unsorted_segment_max_op() {
  return unsorted_op<Max>("UnsortedSegmentMax", kRealNumbers,
                          "Row k holds the largest elements of the rows of data whose segment id is k, the lowest "
                          "number if there are none.")
      .gradient(unsorted_segment_extremum_gradient);
}
OpDef unsorted_segment_min_op() {
  return unsorted_op<Min>("UnsortedSegmentMin", kRealNumbers,
                          "Row k holds the smallest elements of the rows of data whose segment id is k, the highest "
                          "number if there are none.")
      .gradient(unsorted_segment_extremum_gradient);
}

}  // namespace emplace
