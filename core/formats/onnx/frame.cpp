#include "core/formats/onnx/frame.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/node_name.h"
#include "core/formats/onnx/tensor.h"

namespace emplace {

std::string onnx_node_name(std::string_view name) {
  while (name.starts_with('/')) name.remove_prefix(1);
  std::string out(name.empty() ? std::string_view("unnamed") : name);
  for (size_t bad; (bad = first_bad_character(out)) != std::string::npos;) {
    if (bad == 0 && (out[0] == '>' || out[0] == '-')) {
      out[0] = '.';
      continue;
    }
    out[bad] = '_';
    if (bad == 0) out[0] = '.';
  }
  if (out[0] == '_') out.insert(0, ".");
  return out;
}

std::string OnnxBody::free_name(std::string_view wanted) const {
  std::string name = onnx_node_name(wanted);
  const auto taken = [&](const std::string& n) { return edit_.graph().find(n) != kNoNode || reserved_.contains(n); };
  if (!taken(name)) return name;
  int& asked = asked_[name];
  std::string numbered;
  do {
    numbered = cat(name, "_", ++asked);
  } while (taken(numbered));
  return numbered;
}

NodeId OnnxBody::add(NewNode node) {
  node.has_own_name = true;
  const NodeId id = edit_.add(std::move(node));
  if (id != kNoNode) file_.graph.nodes_[id].position = position_;
  return id;
}

Endpoint OnnxBody::add_argument(int64_t index, DType type, const Shape& shape) {
  NewNode node{.name = free_name(cat("arg", index)), .op = "_Arg"};
  node.attrs.emplace_back("T", AttrValue::of(type));
  node.attrs.emplace_back("index", AttrValue::of(index));
  const Endpoint e{add(std::move(node)), 0};
  if (e.node != kNoNode && shape.rank_known()) edit_.known().set_shape(e, shape);
  return e;
}

Endpoint OnnxBody::argument(DType type, const Shape& shape) {
  return arguments_.emplace_back(add_argument(static_cast<int64_t>(arguments_.size()), type, shape));
}

Endpoint OnnxBody::capture(Endpoint outer, OnnxBody& around) {
  if (outer.node == kNoNode || !captures_) return {};
  const Graph& g = around.edit().graph();
  if (const Tensor* value = g.traits(outer.node).constant ? around.edit().value(outer) : nullptr) {
    NewNode copy{.name = free_name(g.name(outer.node)), .op = "Const"};
    copy.attrs.emplace_back("dtype", AttrValue::of(value->dtype()));
    copy.attrs.emplace_back("value", AttrValue::of(*value));
    return {add(std::move(copy)), 0};
  }
  auto found = std::find(captures_->begin(), captures_->end(), outer);
  const auto place = static_cast<size_t>(found - captures_->begin());
  if (found == captures_->end()) captures_->push_back(outer);
  auto [known, is_new] = captured_.try_emplace(place);
  if (is_new)
    known->second = add_argument(static_cast<int64_t>(arguments_.size() + place), around.edit().type(outer),
                                 around.edit().shape(outer));
  return known->second;
}

void OnnxBody::complete_captures(OnnxBody& around) {
  for (size_t i = 0; i < captures_->size(); ++i) {
    if (!captured_.contains(i)) capture((*captures_)[i], around);
  }
}

Endpoints OnnxBody::captured() const {
  Endpoints out;
  for (const auto& [place, argument] : captured_) out.push_back(argument);
  return out;
}

Endpoints OnnxBody::arguments() const {
  Endpoints out = arguments_;
  const Endpoints more = captured();
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

void OnnxFrame::declare(const std::vector<OnnxInitializer>& initializers) {
  for (const OnnxInitializer& i : initializers) initializers_[i.name] = i.message;
}

void OnnxFrame::note(const std::vector<OnnxValueInfo>& infos) {
  for (const OnnxValueInfo& i : infos) infos_[i.name] = i;
}

const OnnxValueInfo* OnnxFrame::info(std::string_view name) const {
  auto found = infos_.find(name);
  return found == infos_.end() ? nullptr : &found->second;
}

const OnnxSequence* OnnxFrame::find_sequence(std::string_view name) {
  auto found = sequences_.find(name);
  if (found != sequences_.end()) return &found->second;
  if (!around_ || tensors_.contains(name) || initializers_.contains(name)) return nullptr;
  const OnnxSequence* outer = around_->find_sequence(name);
  if (!outer) return nullptr;
  OnnxSequence own = *outer;
  if (OnnxBody& around = around_->body(); &around != &body_) {
    for (Endpoint& e : own.tensors) e = body_.capture(e, around);
    own.list = body_.capture(own.list, around), own.given = body_.capture(own.given, around);
  }
  return &(sequences_[name] = std::move(own));
}

OnnxValue OnnxFrame::find_value(std::string_view name) {
  const OnnxSequence* sequence = find_sequence(name);
  return sequence ? OnnxValue{.sequence = *sequence} : OnnxValue{.tensor = find(name)};
}

void OnnxFrame::bind_value(std::string_view name, OnnxValue value) {
  value.sequence ? bind_sequence(name, *std::move(value.sequence)) : bind(name, value.tensor);
}

Endpoint OnnxFrame::find_keys(std::string_view name) const {
  auto found = keys_.find(name);
  return found == keys_.end() ? Endpoint{} : found->second;
}

Endpoint OnnxFrame::make_initializer(std::string_view name, std::string_view message) {
  std::optional<Tensor> value = read_onnx_tensor(all_.w, message);
  if (!value) return {};
  const std::string node_name = cat(prefix_, onnx_node_name(name));
  body_.release(node_name);
  const int64_t of_reader = body_.position();
  body_.set_position(all_.w.position_of(message.data()));
  NewNode node{.name = body_.free_name(node_name), .op = "Const"};
  node.attrs.emplace_back("dtype", AttrValue::of(value->dtype()));
  node.attrs.emplace_back("value", AttrValue::of(std::move(*value)));
  if (prefix_.empty() && node.name != name) body_.file().signature_names[std::string(name)] = node.name;
  const Endpoint made{body_.add(std::move(node)), 0};
  body_.set_position(of_reader);
  return made;
}

Endpoint OnnxFrame::find(std::string_view name) {
  auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  Endpoint tensor;
  if (auto initializer = initializers_.find(name); initializer != initializers_.end()) {
    tensor = make_initializer(name, initializer->second);
  } else if (around_) {
    tensor = around_->find(name);
    if (&around_->body() != &body_) tensor = body_.capture(tensor, around_->body());
  }
  if (tensor.node != kNoNode) bind(name, tensor);
  return tensor;
}

}  // namespace emplace
