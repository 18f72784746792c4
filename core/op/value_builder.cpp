#include "core/op/value_builder.h"

#include <algorithm>
#include <numeric>

#include "core/base/cat.h"
#include "core/tensor/element.h"
#include "core/tensor/tensor.h"

namespace emplace {
namespace {

// TensorFlow makes a constant of zeros below this size, a Fill from it on.
constexpr int64_t kLargeZeros = 1000;

Tensor filled(DType type, const Shape& shape, double number) {
  Tensor t;
  with_type(type, [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::string>) {
      t = allocated(type, shape);
      std::fill_n(t.data<T>(), t.num_elements(), number_as<T>(number));
    }
  });
  return t;
}

Tensor int_tensor(DType type, const Shape& shape, std::span<const int64_t> values) {
  if (type == DType::kInt64) return Tensor::of<int64_t>(shape, values);
  std::vector<int32_t> narrow(values.begin(), values.end());
  return Tensor::of<int32_t>(shape, narrow);
}

struct ReducedAxes {
  std::vector<int64_t> x, y;
};

// The dimensions of the result in which x or y was spread; nothing if static shapes do not say it.
std::optional<ReducedAxes> reduced_axes(const Shape& x, const Shape& y) {
  if (!x.rank_known() || !y.rank_known()) return std::nullopt;
  ReducedAxes axes;
  const int rank = std::max(x.rank(), y.rank());
  for (int i = 0; i < rank; ++i) {
    const int in_x = i - (rank - x.rank()), in_y = i - (rank - y.rank());
    const int64_t dx = in_x < 0 ? 1 : x.dim(in_x), dy = in_y < 0 ? 1 : y.dim(in_y);
    if (dx == 1 && dy != 1) {
      axes.x.push_back(i);
    } else if (dy == 1 && dx != 1) {
      axes.y.push_back(i);
    } else if (dx < 0 || dy < 0) {
      return std::nullopt;
    }
  }
  return axes;
}

}  // namespace

Value ValueBuilder::scalar(DType type, double number, std::string_view name) {
  return constant(filled(base_type(type), Shape{}, number), name);
}

Value ValueBuilder::ints(const std::vector<int64_t>& values, std::string_view name, DType type) {
  return constant(int_tensor(type, Shape{static_cast<int64_t>(values.size())}, values), name);
}

Value ValueBuilder::index(int64_t number, std::string_view name, DType type) {
  return constant(int_tensor(type, Shape{}, {&number, 1}), name);
}

Value ValueBuilder::shape_of(Value v, DType t) {
  const Shape& known = shape(v);
  if (known.fully_known()) return ints({known.dims().begin(), known.dims().end()}, "Shape", t);
  return add("Shape", {v}, {{"out_type", AttrValue::of(t)}});
}

Value ValueBuilder::rank_of(Value v) {
  return shape(v).rank_known() ? index(shape(v).rank(), "Rank") : add("Rank", {v});
}

Value ValueBuilder::size_of(Value v) {
  auto count = shape(v).fully_known() ? shape(v).checked_num_elements() : std::nullopt;
  return count && *count <= INT32_MAX ? index(*count, "Size") : add("Size", {v});
}

Value ValueBuilder::zeros_like(Value v) {
  const Shape& known = shape(v);
  if (!known.fully_known() || type(v) == DType::kVariant) return add("ZerosLike", {v}, {}, "zeros_like");
  if (known.checked_num_elements().value_or(kLargeZeros) < kLargeZeros) {
    return constant(filled(base_type(type(v)), known, 0), "zeros_like");
  }
  Value dims = ints({known.dims().begin(), known.dims().end()}, "zeros_like/shape_as_tensor");
  return add("Fill", {dims, scalar(type(v), 0, "zeros_like/Const")}, {}, "zeros_like");
}

Value ValueBuilder::all_axes(Value v) {
  if (!shape(v).rank_known()) return range(index(0, "range/start"), rank_of(v), index(1, "range/delta"));
  std::vector<int64_t> axes(static_cast<size_t>(shape(v).rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return ints(axes);
}

Value ValueBuilder::cast(Value v, DType to) {
  return base_type(type(v)) == to ? v : add("Cast", {v}, {{"DstT", AttrValue::of(to)}});
}

Value ValueBuilder::reshape(Value v, const std::vector<int64_t>& dims) {
  return reshape(v, ints(dims, "Reshape/shape"));
}

Value ValueBuilder::expand_dims(Value v, int64_t axis) { return add("ExpandDims", {v, index(axis, "ExpandDims/dim")}); }

Value ValueBuilder::concat(const std::vector<Value>& parts) {
  std::vector<Value> inputs = parts;
  inputs.push_back(index(0, "concat/axis"));
  return add("ConcatV2", inputs, {}, "concat");
}

Value ValueBuilder::pack(const std::vector<Value>& parts, int64_t axis) {
  return add("Pack", parts, {{"axis", AttrValue::of(axis)}}, "stack");
}

Value ValueBuilder::gather(Value params, Value indices, int64_t axis) {
  return add("GatherV2", {params, indices, index(axis, "GatherV2/axis")});
}

Value ValueBuilder::slice(Value v, int64_t begin, std::optional<int64_t> end) {
  AttrList masks;
  if (begin == 0) masks.emplace_back("begin_mask", AttrValue::of(int64_t{1}));
  if (!end) masks.emplace_back("end_mask", AttrValue::of(int64_t{1}));
  return add("StridedSlice",
             {v, ints({begin}, "strided_slice/stack"), ints({end.value_or(0)}, "strided_slice/stack_1"),
              ints({1}, "strided_slice/stack_2")},
             std::move(masks), "strided_slice");
}

Value ValueBuilder::element(Value v, int64_t at) {
  return add("StridedSlice",
             {v, ints({at}, "strided_slice/stack"), ints({at + 1}, "strided_slice/stack_1"),
              ints({1}, "strided_slice/stack_2")},
             {{"shrink_axis_mask", AttrValue::of(int64_t{1})}, {"end_mask", AttrValue::of(int64_t{at == -1})}},
             "strided_slice");
}

Value ValueBuilder::sum(Value v, Value axes, bool keep_dims) {
  return add("Sum", {v, axes}, {{"keep_dims", AttrValue::of(keep_dims)}});
}

Value ValueBuilder::reduced_shape(Value input_shape, Value axes) {
  const Tensor* dims = value(input_shape);
  const Tensor* reduced = value(axes);
  if (dims && reduced) {
    std::vector<int64_t> kept = ints_of(*dims);
    const auto rank = static_cast<int64_t>(kept.size());
    for (int64_t axis : ints_of(*reduced)) {
      if (axis >= -rank && axis < rank) kept[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = 1;
    }
    return ints(kept, "Reshape/shape");
  }
  Value rank = size_of(input_shape);
  Value positive = add("FloorMod", {add("AddV2", {cast(axes, DType::kInt32), rank}, {}, "add"), rank}, {}, "mod");
  return add("DynamicStitch",
             {range(index(0, "range/start"), rank, index(1, "range/delta")), positive, input_shape,
              ones(shape_of(positive), DType::kInt32)},
             {{"N", AttrValue::of(int64_t{2})}});
}

std::pair<Value, Value> ValueBuilder::reduce_to(Value x, Value y, Value gx, Value gy) {
  auto axes = reduced_axes(shape(x), shape(y));
  auto reduce = [&](Value gradient, Value reduced, Value to) { return reshape(sum(gradient, reduced, true), to); };
  if (!axes) {
    Value x_shape = shape_of(x), y_shape = shape_of(y);
    Value reduced = add("BroadcastGradientArgs", {x_shape, y_shape});
    if (gx.valid()) gx = reduce(gx, reduced, x_shape);
    if (gy.valid()) gy = reduce(gy, reduced.output(1), y_shape);
    return {gx, gy};
  }
  const bool reduce_x = gx.valid() && (!axes->x.empty() || shape(x).rank() < shape(y).rank());
  const bool reduce_y = gy.valid() && (!axes->y.empty() || shape(y).rank() < shape(x).rank());
  if (!reduce_x && !reduce_y) return {gx, gy};
  Value x_shape = shape_of(x), y_shape = shape_of(y);
  if (reduce_x) gx = reduce(gx, ints(axes->x, "Sum/reduction_indices"), x_shape);
  if (reduce_y) gy = reduce(gy, ints(axes->y, "Sum/reduction_indices"), y_shape);
  return {gx, gy};
}

Value ValueBuilder::dense(Value slices, Value indices, Value dense_shape) {
  return add("UnsortedSegmentSum", {slices, indices, element(dense_shape, 0)});
}

}  // namespace emplace
