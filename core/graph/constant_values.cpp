#include "core/graph/constant_values.h"

#include <algorithm>

#include "core/graph/node_kernel.h"
#include "core/op/evaluate.h"

namespace emplace {
namespace {

// Values that decide shapes are small; larger ones are left to the run.
constexpr int64_t kMaxElements = 4096;

bool is_integer_index(DType t) { return t == DType::kInt32 || t == DType::kInt64; }

Tensor integers(DType dtype, const Shape& shape, std::span<const int64_t> values) {
  if (dtype == DType::kInt64) return Tensor::of<int64_t>(shape, values);
  if (dtype != DType::kInt32) return {};
  std::vector<int32_t> narrow;
  for (int64_t v : values) {
    if (!std::in_range<int32_t>(v)) return {};
    narrow.push_back(static_cast<int32_t>(v));
  }
  return Tensor::of<int32_t>(shape, narrow);
}

// Ops whose value is a matter of the step, not of their inputs alone.
bool depends_on_step(const NodeType& type) {
  const OpTraits& op = *type.traits;
  return type.signature->is_stateful || op.control != Control::kNone || op.loop_condition || op.placeholder ||
         op.placeholder_with_default;
}

bool has_value_type(DType t) {
  return !is_ref(t) && t != DType::kInvalid && t != DType::kResource && t != DType::kVariant;
}

}  // namespace

const Tensor* ConstantValues::value(Endpoint e) { return value_at(e, 0); }
Shape ConstantValues::as_shape(Endpoint e) { return as_shape_at(e, 0); }

const Tensor* ConstantValues::value_at(Endpoint e, int depth) {
  if (!has_type(e) || depth > kMaxDepth) return nullptr;
  const NodeType& type = graph_.type(e.node);
  if (type.traits->constant) {
    const Tensor* value = type.view().find("value")->get_if<Tensor>();
    return value && value->dtype() == type.output_types[0] ? value : nullptr;
  }
  if (!type.def || !type.signature || depends_on_step(type)) return nullptr;
  auto known = values_.find(key_of(e));
  if (known == values_.end()) {
    Tensor value = compute(e, depth);
    known = values_.try_emplace(key_of(e), std::move(value)).first;
  }
  return known->second.valid() ? &known->second : nullptr;
}

Tensor ConstantValues::compute(Endpoint e, int depth) {
  Tensor value = from_shapes(e, depth);
  return value.valid() ? value : run_kernel(e, depth);
}

// What a shape that is known (in part) tells without any tensor's value.
Tensor ConstantValues::from_shapes(Endpoint e, int depth) {
  const NodeType& type = graph_.type(e.node);
  DType dtype = type.output_types[e.slot];
  auto inputs = graph_.inputs(e.node);
  switch (type.traits->partial_value) {
    case PartialValue::kShape: {
      const Shape& shape = shape_of(inputs[e.slot]);
      return shape.fully_known() ? integers(dtype, {shape.rank()}, shape.dims()) : Tensor();
    }
    case PartialValue::kRank: {
      const Shape& shape = shape_of(inputs[0]);
      int64_t rank = shape.rank_known() ? shape.rank() : 0;
      return shape.rank_known() ? integers(dtype, {}, {&rank, 1}) : Tensor();
    }
    case PartialValue::kSize: {
      const Shape& shape = shape_of(inputs[0]);
      auto count = shape.fully_known() ? shape.checked_num_elements() : std::nullopt;
      return count ? integers(dtype, {}, {&*count, 1}) : Tensor();
    }
    case PartialValue::kSlice:
      return is_integer_index(dtype) ? whole_slice(e, depth) : Tensor();
    default:
      return {};
  }
}

Tensor ConstantValues::whole_slice(Endpoint e, int depth) {
  const DType dtype = graph_.output_type(e);
  Shape shape = slice_as_shape(e.node, depth + 1);
  const Shape& form = shape_of(e);
  if (shape.fully_known() && form.rank_known() && form.rank() <= 1 && (form.rank() == 1 || shape.rank() == 1)) {
    return integers(dtype, form.rank() == 0 ? Shape{} : Shape{shape.rank()}, shape.dims());
  }
  return {};
}

Tensor ConstantValues::run_kernel(Endpoint e, int depth) {
  const NodeType& type = graph_.type(e.node);
  KernelMaker maker = cpu_kernel(type);
  bool plain = std::all_of(type.input_types.begin(), type.input_types.end(), has_value_type) &&
               std::all_of(type.output_types.begin(), type.output_types.end(), has_value_type);
  if (!maker || !plain || type.input_types.empty()) return {};
  std::vector<Tensor> inputs;
  for (const Endpoint& in : graph_.inputs(e.node)) {
    const Tensor* value = in.node < e.node ? value_at(in, depth + 1) : nullptr;
    if (!value || value->num_elements() > kMaxElements) return {};
    budget_ -= value->num_elements() + 1;
    inputs.push_back(*value);
  }
  if (budget_ < 0) return {};
  Evaluation what;
  what.node_name = graph_.name(e.node);
  what.attrs = type.view();
  what.input_types = type.input_types;
  what.output_types = type.output_types;
  what.inputs = inputs;
  what.max_elements = kMaxElements;
  auto outputs = evaluate(*type.def, maker, what);  // what fails here fails again, and is told, in the run
  if (!outputs.ok()) return {};
  budget_ -= (*outputs)[e.slot].num_elements();
  return (*outputs)[e.slot];
}

Shape ConstantValues::as_shape_at(Endpoint e, int depth) {
  if (!has_type(e) || depth > kMaxDepth) return Shape::unknown();
  if (const Tensor* value = value_at(e, depth)) return values_as_shape(*value);
  auto known = shapes_.find(key_of(e));
  if (known == shapes_.end()) {
    Shape shape = partial_shape(e, depth);
    known = shapes_.try_emplace(key_of(e), std::move(shape)).first;
  }
  return known->second;
}

Shape ConstantValues::partial_shape(Endpoint e, int depth) {
  const Shape& form = shape_of(e);
  if (!form.rank_known() || form.rank() != 1) return Shape::unknown();
  const NodeType& type = graph_.type(e.node);
  auto inputs = graph_.inputs(e.node);
  Shape shape = Shape::unknown();
  switch (type.traits->partial_value) {
    case PartialValue::kShape:
      shape = shape_of(inputs[e.slot]);
      break;
    case PartialValue::kPack:
      shape = pack_as_shape(e.node, depth + 1);
      break;
    case PartialValue::kConcatAfterAxis:
      shape = concat_as_shape(inputs.subspan(1), depth + 1);
      break;
    case PartialValue::kConcatBeforeAxis:
      shape = concat_as_shape(inputs.first(inputs.size() - 1), depth + 1);
      break;
    case PartialValue::kSlice:
      shape = slice_as_shape(e.node, depth + 1);
      break;
    case PartialValue::kInput:
      if (is_integer_index(type.input_types[0])) shape = as_shape_at(inputs[0], depth + 1);
      break;
    default:
      break;
  }
  if (shape.rank_known() || form.dim(0) < 0 || form.dim(0) > kMaxRank) return shape;
  return Shape::unknown_dims(static_cast<int>(form.dim(0)));
}

Shape ConstantValues::pack_as_shape(NodeId node, int depth) {
  auto inputs = graph_.inputs(node);
  if (inputs.size() > static_cast<size_t>(kMaxRank)) return Shape::unknown();
  Shape shape;
  for (const Endpoint& e : inputs) shape.add_dim(scalar(e, depth));
  return shape;
}

Shape ConstantValues::concat_as_shape(std::span<const Endpoint> parts, int depth) {
  Shape shape;
  for (const Endpoint& e : parts) {
    Shape part = as_shape_at(e, depth);
    if (!part.rank_known() || shape.rank() + part.rank() > kMaxRank) return Shape::unknown();
    for (int64_t d : part.dims()) shape.add_dim(d);
  }
  return shape;
}

// x[begin:end:stride] of a vector in one dimension, also x[begin].
Shape ConstantValues::slice_as_shape(NodeId node, int depth) {
  auto inputs = graph_.inputs(node);
  Attrs attrs = graph_.attrs(node);
  if (attrs.integer("ellipsis_mask") != 0 || attrs.integer("new_axis_mask") != 0) return Shape::unknown();
  Shape whole = as_shape_at(inputs[0], depth);
  const Tensor* ends[3];
  for (size_t i = 0; i < 3; ++i) {
    ends[i] = value_at(inputs[i + 1], depth);
    if (!ends[i] || !is_integer_index(ends[i]->dtype()) || ends[i]->num_elements() != 1) return Shape::unknown();
  }
  if (!whole.rank_known()) return Shape::unknown();
  const int64_t size = whole.rank(), stride = int_at(*ends[2], 0);
  auto from_start = [&](int64_t i) { return i < 0 ? i + size : i; };
  if (attrs.integer("shrink_axis_mask") & 1) {
    int64_t at = from_start(int_at(*ends[0], 0));
    return at < 0 || at >= size ? Shape::unknown() : Shape{whole.dim(static_cast<int>(at))};
  }
  if (stride == 0 || stride < -size - 1 || stride > size + 1) return Shape::unknown();
  const int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
  int64_t begin = attrs.integer("begin_mask") & 1 ? (stride > 0 ? low : high)
                                                  : std::clamp(from_start(int_at(*ends[0], 0)), low, high);
  int64_t end = attrs.integer("end_mask") & 1 ? (stride > 0 ? high : low)
                                              : std::clamp(from_start(int_at(*ends[1], 0)), low, high);
  Shape shape;
  for (int64_t i = begin; stride > 0 ? i < end : i > end; i += stride) shape.add_dim(whole.dim(static_cast<int>(i)));
  return shape;
}

// The value of an integer scalar, -1 if it is not known (or negative).
int64_t ConstantValues::scalar(Endpoint e, int depth) {
  const Tensor* value = value_at(e, depth);
  if (!value || value->num_elements() != 1 || !is_integer_index(value->dtype())) return -1;
  return std::max<int64_t>(int_at(*value, 0), -1);
}

}  // namespace emplace
