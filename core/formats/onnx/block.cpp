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
Result<Tensor> transposed_tensor(const Tensor& t, std::span<const int64_t> perm) {
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

bool is_permutation_of(std::span<const int64_t> perm, int rank) {
  std::vector<bool> seen(perm.size());
  for (int64_t p : perm) {
    if (p < 0 || p >= static_cast<int64_t>(perm.size()) || seen[static_cast<size_t>(p)]) return false;
    seen[static_cast<size_t>(p)] = true;
  }
  return static_cast<int>(perm.size()) == rank;
}

}  // namespace

OnnxAttrs::OnnxAttrs() = default;
OnnxAttrs::OnnxAttrs(std::initializer_list<OnnxAttr> attrs) {
  for (const OnnxAttr& a : attrs) attrs_.emplace_back(a.name, a.value);
}
OnnxAttrs::OnnxAttrs(const OnnxAttrs& other) = default;
OnnxAttrs::OnnxAttrs(OnnxAttrs&& other) noexcept = default;
OnnxAttrs::~OnnxAttrs() = default;
void OnnxAttrs::add(const char* name, AttrValue value) { attrs_.emplace_back(name, std::move(value)); }

AttrValue attr_of(bool v) { return AttrValue::of(v); }
AttrValue attr_of(DType v) { return AttrValue::of(v); }
AttrValue attr_of(int64_t v) { return AttrValue::of(v); }
AttrValue attr_of(float v) { return AttrValue::of(v); }
AttrValue attr_of(const char* v) { return AttrValue::of(std::string(v)); }
AttrValue attr_of(std::string v) { return AttrValue::of(std::move(v)); }
AttrValue attr_of(Ints v) { return AttrValue::list_of(AttrKind::kInt, std::move(v)); }

Endpoint OnnxBlock::make(std::string_view op, Endpoints inputs, OnnxAttrs attrs) {
  if (failed()) return {};
  if (std::any_of(inputs.begin(), inputs.end(), [](Endpoint e) { return e.node == kNoNode; }))
    return fail("an input is missing");
  OnnxBody& body = frame().body();
  NewNode node{.name = body.free_name(cat(prefix_, "/", op)), .op = std::string(op)};
  node.inputs = std::move(inputs);
  node.attrs = attrs.take();
  const Endpoint made{body.add(std::move(node)), 0};
  if (!edit().status().ok()) return fail(edit().status().message());
  return made;
}

Endpoint OnnxBlock::make(std::string_view op, std::initializer_list<Endpoint> inputs) {
  return make(op, Endpoints(inputs), OnnxAttrs());
}

Endpoint OnnxBlock::make(std::string_view op, std::initializer_list<Endpoint> inputs,
                         std::initializer_list<OnnxAttr> attrs) {
  return make(op, Endpoints(inputs), OnnxAttrs(attrs));
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

Endpoint OnnxBlock::math(std::string_view op, std::initializer_list<Endpoint> inputs) {
  return math(op, Endpoints(inputs), OnnxAttrs());
}

Endpoint OnnxBlock::math(std::string_view op, std::initializer_list<Endpoint> inputs,
                         std::initializer_list<OnnxAttr> attrs) {
  return math(op, Endpoints(inputs), OnnxAttrs(attrs));
}

Endpoint OnnxBlock::constant(Tensor value) {
  OnnxAttrs attrs;
  attrs.add("dtype", AttrValue::of(value.dtype()));
  attrs.add("value", AttrValue::of(std::move(value)));
  return make("Const", Endpoints(), std::move(attrs));
}

Endpoint OnnxBlock::scalar(DType type, double value) {
  if (failed()) return {};
  if (type == DType::kBool) return constant(Tensor::scalar(value != 0));
  Result<Tensor> t = is_integer(type) ? convert_literal(Tensor::scalar(static_cast<int64_t>(value)), type)
                                      : convert_literal(Tensor::scalar(value), type);
  return t.ok() ? constant(t.take()) : fail(t.status().message());
}

Endpoint OnnxBlock::ints(IntList values) {
  return constant(Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
}

Endpoint OnnxBlock::ints32(IntList values) {
  std::vector<int32_t> narrow;
  for (int64_t v : values) narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX)));
  return constant(Tensor::of<int32_t>(Shape{static_cast<int64_t>(values.size())}, narrow));
}

Endpoint OnnxBlock::int32(int64_t value) { return constant(Tensor::scalar(static_cast<int32_t>(value))); }
Endpoint OnnxBlock::int64(int64_t value) { return constant(Tensor::scalar(value)); }

Endpoint OnnxBlock::cast(Endpoint e, DType to) {
  return type(e) == to ? e : make("Cast", {e}, {{"DstT", AttrValue::of(to)}});
}

Endpoint OnnxBlock::add(Endpoint a, Endpoint b) { return math("AddV2", {a, b}); }
Endpoint OnnxBlock::sub(Endpoint a, Endpoint b) { return math("Sub", {a, b}); }
Endpoint OnnxBlock::mul(Endpoint a, Endpoint b) { return math("Mul", {a, b}); }
Endpoint OnnxBlock::div(Endpoint a, Endpoint b) { return math(is_floating(type(a)) ? "RealDiv" : "Div", {a, b}); }

Endpoint OnnxBlock::reshape(Endpoint e, IntList dims) { return make("Reshape", {e, ints(dims)}); }
Endpoint OnnxBlock::reshape_to(Endpoint e, Endpoint dims) { return make("Reshape", {e, dims}); }
Endpoint OnnxBlock::expand(Endpoint e, int64_t axis) { return make("ExpandDims", {e, int32(axis)}); }
Endpoint OnnxBlock::broadcast(Endpoint e, Endpoint shape) { return make("BroadcastTo", {e, shape}); }
Endpoint OnnxBlock::select(Endpoint condition, Endpoint a, Endpoint b) { return make("SelectV2", {condition, a, b}); }

Endpoint OnnxBlock::transpose(Endpoint e, IntList perm) {
  Ints same(perm.size());
  std::iota(same.begin(), same.end(), 0);
  if (std::equal(perm.begin(), perm.end(), same.begin())) return e;
  // A filter in another order is one once, not in every step.
  const Tensor* fixed = e.node != kNoNode && edit().graph().traits(e.node).constant ? value(e) : nullptr;
  if (fixed && dtype_size(fixed->dtype()) > 0 && is_permutation_of(perm, fixed->shape().rank())) {
    Result<Tensor> turned = transposed_tensor(*fixed, perm);
    return turned.ok() ? constant(turned.take()) : fail(turned.status().message());
  }
  return make("Transpose", {e, ints32(perm)});
}

Endpoint OnnxBlock::squeeze(Endpoint e, IntList axes) {
  return axes.empty() ? e : make("Squeeze", {e}, {{"squeeze_dims", attr_of(Ints(axes.begin(), axes.end()))}});
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

Endpoint OnnxBlock::concat(std::initializer_list<Endpoint> parts, int64_t axis) {
  return concat(Endpoints(parts), axis);
}

Endpoint OnnxBlock::reduce(std::string_view op, Endpoint e, IntList axes, bool keep) {
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

void OnnxBlock::make_sequence(OnnxSequence sequence, size_t output) {
  if (!failed() && wants(output)) frame().bind_sequence(node().outputs[output], std::move(sequence));
}

}  // namespace emplace
