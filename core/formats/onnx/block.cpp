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

OnnxBlock::OnnxBlock(OnnxFrame& frame, const OnnxNode& node, const OnnxOpsets& opsets, std::string prefix)
    : frame_(frame), node_(node), opsets_(opsets), prefix_(std::move(prefix)) {
  const auto own = opsets.find(node.domain);
  version_ = own == opsets.end() ? 1 : own->second;
}

// --- the node ---

Endpoint OnnxBlock::input(size_t i) {
  if (failed_) return {};
  if (!has(i)) return fail(cat("input ", i, " is missing"));
  const Endpoint e = frame_.find(node_.inputs[i]);
  if (e.node == kNoNode && frame_.all().w.c.problems.empty())
    return fail(cat("no tensor is named '", node_.inputs[i], "'"));
  failed_ = failed_ || e.node == kNoNode;
  return e;
}

Endpoints OnnxBlock::inputs(size_t from) {
  Endpoints out;
  for (size_t i = from; i < node_.inputs.size(); ++i) out.push_back(input(i));
  return out;
}

Endpoints OnnxBlock::sequence(size_t i) {
  const Endpoints* found = has(i) ? frame_.find_sequence(node_.inputs[i]) : nullptr;
  if (!found) fail(cat("input ", i, " is not a sequence whose length is known before the run"));
  return found ? *found : Endpoints();
}

void OnnxBlock::make_sequence(Endpoints tensors) {
  if (!failed_ && wants(0)) frame_.bind_sequence(node_.outputs[0], std::move(tensors));
}

bool OnnxBlock::has_attribute(std::string_view name) const {
  return std::any_of(node_.attributes.begin(), node_.attributes.end(),
                     [&](const OnnxAttribute& a) { return a.name == name; });
}

const OnnxAttribute* OnnxBlock::attribute(std::string_view name, OnnxAttributeType type) {
  for (const OnnxAttribute& a : node_.attributes) {
    if (a.name != name) continue;
    if (a.type == type || a.type == OnnxAttributeType::kUndefined) return &a;
    fail(cat("attribute '", name, "' is of type ", onnx_attribute_type_name(a.type), "; wanted ",
             onnx_attribute_type_name(type)));
    return nullptr;
  }
  return nullptr;
}

int64_t OnnxBlock::integer(std::string_view name, int64_t otherwise) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kInt);
  return a ? a->i : otherwise;
}

float OnnxBlock::number(std::string_view name, float otherwise) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kFloat);
  return a ? a->f : otherwise;
}

std::string OnnxBlock::text(std::string_view name, std::string_view otherwise) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kString);
  return std::string(a ? a->s : otherwise);
}

std::optional<Ints> OnnxBlock::integers(std::string_view name) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kInts);
  return a ? std::optional(a->ints) : std::nullopt;
}

Ints OnnxBlock::integers(std::string_view name, Ints otherwise) {
  return integers(name).value_or(std::move(otherwise));
}

std::optional<Tensor> OnnxBlock::tensor(std::string_view name) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kTensor);
  if (!a) return std::nullopt;
  std::optional<Tensor> t = read_onnx_tensor(frame_.all().w, a->tensor);
  failed_ = failed_ || !t;
  return t;
}

int OnnxBlock::axis(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  fail(cat("axis ", axis, " of a tensor of rank ", rank));
  return 0;
}

// --- what is known ---

int OnnxBlock::rank(Endpoint e) {
  if (shape(e).rank_known()) return shape(e).rank();
  fail("the rank of an input is not known");
  return 0;
}

int64_t OnnxBlock::dim(Endpoint e, int axis) {
  const Shape& s = shape(e);
  return s.rank_known() && axis >= 0 && axis < s.rank() ? s.dim(axis) : -1;
}

const Tensor* OnnxBlock::value(Endpoint e) { return e.node == kNoNode ? nullptr : edit().value(e); }

std::optional<Ints> OnnxBlock::known(Endpoint e) {
  const Tensor* t = value(e);
  if (!t || (t->dtype() != DType::kInt64 && t->dtype() != DType::kInt32)) return std::nullopt;
  return ints_of(*t);
}

Ints OnnxBlock::wanted(Endpoint e, std::string_view what) {
  std::optional<Ints> values = known(e);
  if (!values) fail(cat(what, " that are known only in the run"), "a constant is wanted here");
  return values.value_or(Ints());
}

std::optional<Ints> OnnxBlock::numbers(std::string_view attribute, size_t input) {
  if (has_attribute(attribute)) return integers(attribute);
  if (!has(input)) return std::nullopt;
  return wanted(this->input(input), attribute);
}

Endpoint OnnxBlock::fail(std::string_view message, std::string hint) {
  if (!std::exchange(failed_, true)) {
    frame_.all().w.problem(node_.at, cat(node_.op, ": ", message), std::move(hint));
  }
  return {};
}

// --- making nodes ---

Endpoint OnnxBlock::make(std::string_view op, Endpoints inputs, OnnxAttrs attrs) {
  if (failed_) return {};
  if (std::any_of(inputs.begin(), inputs.end(), [](Endpoint e) { return e.node == kNoNode; }))
    return fail("an input is missing");
  OnnxBody& body = frame_.body();
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
  for (size_t i = 0; i < outputs && !failed_; ++i) out[i].slot = static_cast<uint32_t>(i);
  return out;
}

Endpoint OnnxBlock::math(std::string_view op, Endpoints inputs, OnnxAttrs attrs) {
  if (failed_ || inputs.empty()) return make(op, std::move(inputs), std::move(attrs));
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
  if (failed_) return {};
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

}  // namespace emplace
