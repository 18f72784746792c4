#include "core/formats/onnx/node_view.h"

#include <algorithm>
#include <utility>

#include "core/base/cat.h"
#include "core/formats/onnx/tensor.h"
#include "core/graph/literals.h"

namespace emplace {

OnnxNodeView::OnnxNodeView(OnnxFrame& frame, const OnnxNode& node, const OnnxOpsets& opsets)
    : frame_(frame), node_(node), opsets_(opsets) {
  const auto own = opsets.find(node.domain);
  version_ = own == opsets.end() ? 1 : own->second;
}

// --- the node ---

Endpoint OnnxNodeView::input(size_t i) {
  if (failed_) return {};
  if (!has(i)) return fail(cat("input ", i, " is missing"));
  if (is_sequence(i)) return fail(cat("input ", i, " is a sequence; wanted a tensor"));
  const Endpoint e = frame_.find(node_.inputs[i]);
  if (e.node == kNoNode && frame_.all().w.c.problems.empty())
    return fail(cat("no tensor is named '", node_.inputs[i], "'"));
  failed_ = failed_ || e.node == kNoNode;
  return e;
}

Endpoints OnnxNodeView::inputs(size_t from) {
  Endpoints out;
  for (size_t i = from; i < node_.inputs.size(); ++i) out.push_back(input(i));
  return out;
}

OnnxSequence OnnxNodeView::sequence(size_t i) {
  const OnnxSequence* found = has(i) ? frame_.find_sequence(node_.inputs[i]) : nullptr;
  if (!found) fail(cat("input ", i, " is not a sequence"));
  return found ? *found : OnnxSequence();
}

bool OnnxNodeView::has_attribute(std::string_view name) const {
  return std::any_of(node_.attributes.begin(), node_.attributes.end(),
                     [&](const OnnxAttribute& a) { return a.name == name; });
}

const OnnxAttribute* OnnxNodeView::attribute(std::string_view name, OnnxAttributeType type) {
  for (const OnnxAttribute& a : node_.attributes) {
    if (a.name != name) continue;
    if (a.type == type || a.type == OnnxAttributeType::kUndefined) return &a;
    fail(cat("attribute '", name, "' is of type ", onnx_attribute_type_name(a.type), "; wanted ",
             onnx_attribute_type_name(type)));
    return nullptr;
  }
  return nullptr;
}

int64_t OnnxNodeView::integer(std::string_view name, int64_t otherwise) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kInt);
  return a ? a->i : otherwise;
}

float OnnxNodeView::number(std::string_view name, float otherwise) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kFloat);
  return a ? a->f : otherwise;
}

std::string OnnxNodeView::text(std::string_view name, std::string_view otherwise) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kString);
  return std::string(a ? a->s : otherwise);
}

std::optional<Ints> OnnxNodeView::integers(std::string_view name) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kInts);
  return a ? std::optional(a->ints) : std::nullopt;
}

Ints OnnxNodeView::integers(std::string_view name, Ints otherwise) {
  return integers(name).value_or(std::move(otherwise));
}

std::optional<Tensor> OnnxNodeView::tensor(std::string_view name) {
  const OnnxAttribute* a = attribute(name, OnnxAttributeType::kTensor);
  if (!a) return std::nullopt;
  std::optional<Tensor> t = read_onnx_tensor(frame_.all().w, a->tensor);
  failed_ = failed_ || !t;
  return t;
}

int OnnxNodeView::axis(int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  fail(cat("axis ", axis, " of a tensor of rank ", rank));
  return 0;
}

// --- what is known ---

int OnnxNodeView::rank(Endpoint e) {
  if (shape(e).rank_known()) return shape(e).rank();
  fail("the rank of an input is not known");
  return 0;
}

int64_t OnnxNodeView::dim(Endpoint e, int axis) {
  const Shape& s = shape(e);
  return s.rank_known() && axis >= 0 && axis < s.rank() ? s.dim(axis) : -1;
}

const Tensor* OnnxNodeView::value(Endpoint e) { return e.node == kNoNode ? nullptr : frame_.body().edit().value(e); }

std::optional<Ints> OnnxNodeView::known(Endpoint e) {
  const Tensor* t = value(e);
  if (!t || (t->dtype() != DType::kInt64 && t->dtype() != DType::kInt32)) return std::nullopt;
  return ints_of(*t);
}

Ints OnnxNodeView::wanted(Endpoint e, std::string_view what) {
  std::optional<Ints> values = known(e);
  if (!values) fail(cat(what, " that are known only in the run"), "a constant is wanted here");
  return values.value_or(Ints());
}

std::optional<Ints> OnnxNodeView::numbers(std::string_view attribute, size_t input) {
  if (has_attribute(attribute)) return integers(attribute);
  if (!has(input)) return std::nullopt;
  return wanted(this->input(input), attribute);
}

Endpoint OnnxNodeView::fail(std::string_view message, std::string hint) {
  if (!std::exchange(failed_, true)) {
    frame_.all().w.problem(node_.at, cat(node_.op, ": ", message), std::move(hint));
  }
  return {};
}

}  // namespace emplace
