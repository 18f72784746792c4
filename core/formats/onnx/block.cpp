#include "core/formats/onnx/block.h"

#include <algorithm>
#include <numeric>

#include "core/base/cat.h"
#include "core/formats/onnx/tensor.h"
#include "core/graph/literals.h"
#include "core/op/evaluate.h"

namespace emplace {
namespace {

/// A type with kernels for nearly everything that holds all values of `t`, or the nearest to it.
DType wider(DType t) {
  switch (t) {
    case DType::kHalf:
    case DType::kBFloat16:
      return DType::kFloat;
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kUInt16:
      return DType::kInt32;
    case DType::kInt32:
    case DType::kUInt32:
    case DType::kUInt64:
      return DType::kInt64;
    case DType::kBool:
      return DType::kUInt8;
    default:
      return DType::kInvalid;
  }
}

/// Dimension i of the result is dimension perm[i]. REQUIRES: elements of a fixed size; perm is a permutation.
Result<Tensor> transposed_tensor(const Tensor& t, const Ints& perm) {
  const OpDef* def = OpLibrary::find("Transpose");
  const KernelMaker maker = def->cpu_kernel(t.dtype());
  if (!maker) return unimplemented(cat("Transpose of ", dtype_name(t.dtype())));
  const Tensor inputs[] = {t, Tensor::of<int64_t>(Shape{static_cast<int64_t>(perm.size())}, perm)};
  const DType input_types[] = {t.dtype(), DType::kInt64}, output_types[] = {t.dtype()};
  const Evaluation what{.node_name = "Transpose",
                        .attrs = {},
                        .input_types = input_types,
                        .output_types = output_types,
                        .inputs = inputs,
                        .max_elements = t.num_elements()};
  ASSIGN_OR_RETURN(std::vector<Tensor> made, evaluate(*def, maker, what));
  return std::move(made[0]);
}

bool is_permutation_of(const Ints& perm, int rank) {
  std::vector<bool> seen(perm.size());
  for (int64_t p : perm) {
    if (p < 0 || p >= static_cast<int64_t>(perm.size()) || seen[static_cast<size_t>(p)]) return false;
    seen[static_cast<size_t>(p)] = true;
  }
  return static_cast<int>(perm.size()) == rank;
}

}  // namespace

Endpoint OnnxBlock::make(std::string_view op, Endpoints inputs, OnnxAttrs attrs) {
  if (failed()) return {};
  if (std::any_of(inputs.begin(), inputs.end(), [](Endpoint e) { return e.node == kNoNode; }))
    return fail("an input is missing");
  OnnxBody& body = frame().body();
  NewNode node{.name = body.free_name(cat(prefix_, "/", op)), .op = std::string(op)};
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  const Endpoint made{body.add(std::move(node)), 0};
  if (!edit().status().ok()) return fail(edit().status().message());
  return made;
}

Endpoints OnnxBlock::make_many(std::string_view op, Endpoints inputs, size_t outputs, OnnxAttrs attrs) {
  const Endpoint made = make(op, std::move(inputs), std::move(attrs));
  Endpoints out(outputs, made);
  for (size_t i = 0; i < outputs && !failed(); ++i) out[i].slot = static_cast<uint32_t>(i);
  return out;
}

Endpoint OnnxBlock::math(std::string_view op, Endpoints inputs, OnnxAttrs attrs) {
  if (failed() || inputs.empty()) return make(op, std::move(inputs), std::move(attrs));
  const OpDef* def = OpLibrary::find(op);
  const DType own = type(inputs[0]);
  DType used = own;
  while (def && used != DType::kInvalid && !def->cpu_kernel(used)) used = wider(used);
  if (!def || used == DType::kInvalid || used == own) return make(op, std::move(inputs), std::move(attrs));
  for (Endpoint& e : inputs) {
    if (type(e) == own) e = cast(e, used);
  }
  const Endpoint result = make(op, std::move(inputs), std::move(attrs));
  return type(result) == used ? cast(result, own) : result;
}

Endpoint OnnxBlock::constant(Tensor value) {
  OnnxAttrs attrs;
  attrs.emplace_back("dtype", AttrValue::of(value.dtype()));
  attrs.emplace_back("value", AttrValue::of(std::move(value)));
  return make("Const", {}, std::move(attrs));
}

Endpoint OnnxBlock::scalar(DType type, double value) {
  if (failed()) return {};
  if (type == DType::kBool) return constant(Tensor::scalar(value != 0));
  Result<Tensor> t = is_integer(type) ? convert_literal(Tensor::scalar(static_cast<int64_t>(value)), type)
                                      : convert_literal(Tensor::scalar(value), type);
  return t.ok() ? constant(t.take()) : fail(t.status().message());
}

Endpoint OnnxBlock::ints(const Ints& values) {
  return constant(Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
}

Endpoint OnnxBlock::ints32(const Ints& values) {
  std::vector<int32_t> narrow;
  for (int64_t v : values) narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX)));
  return constant(Tensor::of<int32_t>(Shape{static_cast<int64_t>(values.size())}, narrow));
}

Endpoint OnnxBlock::int32(int64_t value) { return constant(Tensor::scalar(static_cast<int32_t>(value))); }
Endpoint OnnxBlock::int64(int64_t value) { return constant(Tensor::scalar(value)); }

Endpoint OnnxBlock::cast(Endpoint e, DType to) {
  return type(e) == to ? e : make("Cast", {e}, {{"DstT", AttrValue::of(to)}});
}

Endpoint OnnxBlock::div(Endpoint a, Endpoint b) { return math(is_floating(type(a)) ? "RealDiv" : "Div", {a, b}); }

Endpoint OnnxBlock::reshape(Endpoint e, const Ints& dims) { return make("Reshape", {e, ints(dims)}); }

Endpoint OnnxBlock::transpose(Endpoint e, const Ints& perm) {
  Ints same(perm.size());
  std::iota(same.begin(), same.end(), 0);
  if (perm == same) return e;
  // A filter in another order is one once, not in every step.
  const Tensor* fixed = e.node != kNoNode && edit().graph().traits(e.node).constant ? value(e) : nullptr;
  if (fixed && dtype_size(fixed->dtype()) > 0 && is_permutation_of(perm, fixed->shape().rank())) {
    Result<Tensor> turned = transposed_tensor(*fixed, perm);
    return turned.ok() ? constant(turned.take()) : fail(turned.status().message());
  }
  return make("Transpose", {e, ints32(perm)});
}

Endpoint OnnxBlock::squeeze(Endpoint e, const Ints& axes) {
  return axes.empty() ? e : make("Squeeze", {e}, {{"squeeze_dims", attr_of(axes)}});
}

Endpoint OnnxBlock::slice(Endpoint e, int axis, int64_t begin, int64_t end, int64_t step) {
  const size_t n = static_cast<size_t>(axis) + 1;
  Ints from(n), to(n), by(n, 1);
  from.back() = begin, to.back() = end, by.back() = step;
  const int64_t all = (int64_t{1} << axis) - 1;
  return make("StridedSlice", {e, ints(from), ints(to), ints(by)},
              {{"begin_mask", attr_of(all)}, {"end_mask", attr_of(all)}});
}

Endpoint OnnxBlock::concat(const Endpoints& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  Endpoints all = parts;
  all.push_back(int32(axis));
  return make("ConcatV2", std::move(all));
}

Endpoint OnnxBlock::reduce(std::string_view op, Endpoint e, const Ints& axes, bool keep) {
  return math(op, {e, ints32(axes)}, {{"keep_dims", attr_of(keep)}});
}

Endpoint OnnxBlock::shape_of(Endpoint e) {
  if (has_shape(e)) return ints(Ints(shape(e).dims().begin(), shape(e).dims().end()));
  return make("Shape", {e}, {{"out_type", attr_of(DType::kInt64)}});
}

Endpoint OnnxBlock::dim_of(Endpoint e, int axis) {
  if (const int64_t known = dim(e, axis); known >= 0) return ints({known});
  return slice(shape_of(e), 0, axis, axis + 1);
}

Endpoint OnnxBlock::per_channel(Endpoint vector, int rank, int axis) {
  Ints dims(static_cast<size_t>(std::max(rank, axis + 1) - axis), 1);
  dims[0] = -1;
  return dims.size() == 1 ? vector : reshape(vector, dims);
}

void OnnxBlock::make_sequence(Endpoints tensors) {
  if (!failed() && wants(0)) frame().bind_sequence(node().outputs[0], std::move(tensors));
}

}  // namespace emplace
