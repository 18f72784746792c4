#include "core/graph/shape_pass.h"

#include <algorithm>

#include "core/base/assert.h"
#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/graph/node_summary.h"
#include "core/op/attr_text.h"

namespace emplace {

class NodeShapeContext final : public ShapeContext {
 public:
  explicit NodeShapeContext(ShapePass& pass) : pass_(pass) {}

  void point_at(NodeId id) {
    id_ = id;
    type_ = &pass_.graph_.type(id);
    attrs_ = type_->view();
    outputs_.assign(type_->output_types.size(), Shape::unknown());
    by_value_ = false;
    asked_.assign(type_->input_types.size(), Asked::kNothing);
  }

  int num_inputs() const override { return static_cast<int>(type_->input_types.size()); }
  const Shape& input(int i) const override { return pass_.graph_.shapes_[pass_.in_ids_[static_cast<size_t>(i)]]; }
  DType input_type(int i) const override { return type_->input_types[static_cast<size_t>(i)]; }
  const Tensor* input_value(int i) const override {
    by_value_ = true;
    Endpoint e = source(i);
    if (asked_[static_cast<size_t>(i)] == Asked::kNothing) asked_[static_cast<size_t>(i)] = Asked::kValue;
    return e.node < id_ ? pass_.values_.value(e) : nullptr;
  }
  Shape input_as_shape(int i) const override {
    by_value_ = true;
    Endpoint e = source(i);
    asked_[static_cast<size_t>(i)] = Asked::kShape;
    return e.node < id_ ? pass_.values_.as_shape(e) : Shape::unknown();
  }
  const Attrs& attrs() const override { return attrs_; }
  int num_outputs() const override { return static_cast<int>(outputs_.size()); }
  DType output_type(int i) const override { return type_->output_types[static_cast<size_t>(i)]; }
  void set_output(int i, Shape shape) override { outputs_[static_cast<size_t>(i)] = std::move(shape); }

  const HandleInfo* input_handle(int i) const override {
    by_value_ = true;
    auto it = pass_.handles_.find(key_of(source(i)));
    return it == pass_.handles_.end() ? nullptr : &it->second;
  }
  void set_output_handle(int i, HandleInfo info) override {
    by_value_ = true;
    pass_.handles_.insert_or_assign(key_of({id_, static_cast<uint32_t>(i)}), std::move(info));
  }

  const std::vector<Shape>& outputs() const { return outputs_; }
  bool by_value() const { return by_value_; }

  // " and with computed input tensors: input[1] = <2>": what the rule knew, as TensorFlow says it.
  std::string knowledge() const {
    std::string values, shapes;
    for (int i = 0; i < num_inputs(); ++i) {
      Asked asked = asked_[static_cast<size_t>(i)];
      constexpr int64_t kShown = 256;
      if (asked == Asked::kValue) {
        const Tensor* value = input_value(i);
        if (value)
          append(values, values.empty() ? "" : ", ", "input[", i, "] = <", summarize_values(*value, kShown), ">");
      } else if (asked == Asked::kShape) {
        Shape shape = input_as_shape(i);
        if (shape.rank_known()) append(shapes, shapes.empty() ? "" : ", ", "input[", i, "] = ", shape.to_string());
      }
    }
    std::string out;
    if (!values.empty()) append(out, " and with computed input tensors: ", values);
    if (!shapes.empty()) append(out, " and with input tensors computed as partial shapes: ", shapes);
    return out;
  }

 private:
  enum class Asked : uint8_t { kNothing, kValue, kShape };
  Endpoint source(int i) const { return pass_.graph_.inputs(id_)[static_cast<size_t>(i)]; }

  ShapePass& pass_;
  NodeId id_ = 0;
  const NodeType* type_ = nullptr;
  Attrs attrs_;
  std::vector<Shape> outputs_;
  mutable std::vector<Asked> asked_;
  mutable bool by_value_ = false;
};

ShapePass::ShapePass(Graph& graph, Problems& problems)
    : graph_(graph),
      problems_(problems),
      values_(graph),
      distinct_(16, ShapeHash{&graph}, ShapeEqual{&graph}),
      known_(64),
      types_(graph.types_.size()),
      context_(std::make_unique<NodeShapeContext>(*this)) {
  for (uint32_t i = 0; i < graph.shapes_.size(); ++i) distinct_.insert(i);
}

ShapePass::~ShapePass() = default;

// Shapes are unknown where it was stopped: who asked for that wants none.
void ShapePass::run(const std::function<void(NodeId)>& before_node) {
  OccasionalLook look;
  for (NodeId id = 0; id < graph_.num_nodes() && !look.stop_requested(); ++id) {
    if (before_node) before_node(id);
    add(id);
  }
}

void ShapePass::add(NodeId id) {
  const uint32_t type = graph_.nodes_[id].type;
  if (type >= types_.size()) types_.resize(graph_.types_.size());
  if (type < types_.size() && has_rule(type)) infer(id);
}

void ShapePass::set(Endpoint output, const Shape& shape) {
  graph_.output_shapes_[graph_.nodes_[output.node].first_output + output.slot] = intern(shape);
}

bool ShapePass::again(NodeId id) { return !has_rule(graph_.nodes_[id].type) || infer(id, false); }

// In a function's body an attr may be a placeholder; a rule cannot read it.
bool ShapePass::has_rule(uint32_t type) {
  TypeFacts& facts = types_[type];
  if (facts.rule == TypeFacts::Rule::kNotLookedAt) {
    const NodeType& t = graph_.types_[type];
    facts.type = &t;
    facts.num_outputs = static_cast<uint32_t>(t.output_types.size());
    bool open = std::any_of(t.attrs.begin(), t.attrs.end(),
                            [](const Attrs::Entry& a) { return a.second->type().kind == AttrKind::kPlaceholder; });
    facts.rule = t.def && t.def->shape_rule() && !open ? TypeFacts::Rule::kThere : TypeFacts::Rule::kNone;
  }
  return facts.rule == TypeFacts::Rule::kThere;
}

uint32_t ShapePass::input_shape(NodeId id, const Endpoint& e) const {
  return e.node < id ? graph_.output_shapes_[graph_.nodes_[e.node].first_output + e.slot] : 0;
}

bool ShapePass::infer(NodeId id, bool report_refusal) {
  const Node& node = graph_.nodes_[id];
  in_ids_.clear();
  const size_t num_types = graph_.types_.size();
  for (const Endpoint& e : graph_.inputs(id)) {
    if (graph_.nodes_[e.node].type >= num_types) return true;  // a problem of its own
    in_ids_.push_back(input_shape(id, e));
  }
  const TypeFacts& facts = types_[node.type];
  const size_t num_outputs = facts.num_outputs;
  Known once;  // a source's type is rarely that of another
  Known& known = in_ids_.empty() ? once : find_known(node.type);
  uint32_t* out = graph_.output_shapes_.data() + node.first_output;
  if (known.used && !known.by_value) {
    const uint32_t* shapes = ids_.data() + known.first + in_ids_.size();
    for (size_t i = 0; i < num_outputs; ++i) out[i] = shapes[i];
    return true;
  }
  context_->point_at(id);
  Status status = facts.type->def->shape_rule()(*context_);
  if (!status.ok()) {
    if (report_refusal) report(id, status, *context_);
    return false;
  }
  for (size_t i = 0; i < num_outputs; ++i) out[i] = intern(context_->outputs()[i]);
  if (known.used || in_ids_.empty()) return true;
  known.used = true;
  known.by_value = context_->by_value();
  known.type = node.type;
  known.first = static_cast<uint32_t>(ids_.size());
  ids_.insert(ids_.end(), in_ids_.begin(), in_ids_.end());
  if (!known.by_value) ids_.insert(ids_.end(), out, out + num_outputs);
  if (++num_known_ * 2 > known_.size()) grow();
  return true;
}

// The entry for this type and these input shapes, or the free one where it belongs (hash already set).
ShapePass::Known& ShapePass::find_known(uint32_t type) {
  uint64_t hash = (type + 1) * 0x9e3779b97f4a7c15u;
  for (uint32_t shape : in_ids_) hash = ((hash ^ (hash >> 29)) + shape + 1) * 0xbf58476d1ce4e5b9u;
  hash ^= hash >> 32;
  for (size_t i = hash & (known_.size() - 1);; i = (i + 1) & (known_.size() - 1)) {
    Known& k = known_[i];
    if (!k.used) {
      k.hash = hash;
      return k;
    }
    if (k.hash == hash && k.type == type && std::equal(in_ids_.begin(), in_ids_.end(), ids_.data() + k.first)) return k;
  }
}

void ShapePass::grow() {
  std::vector<Known> old(known_.size() * 2);
  old.swap(known_);
  for (const Known& k : old) {
    if (!k.used) continue;
    size_t i = k.hash & (known_.size() - 1);
    while (known_[i].used) i = (i + 1) & (known_.size() - 1);
    known_[i] = k;
  }
}

size_t ShapePass::ShapeHash::operator()(const Shape& s) const {
  uint64_t h = s.rank_known() ? static_cast<uint64_t>(s.rank()) + 1 : 0;
  if (s.rank_known()) {
    for (int64_t d : s.dims()) h = ((h ^ (h >> 29)) + static_cast<uint64_t>(d) + 2) * 0xbf58476d1ce4e5b9u;
  }
  return h ^ (h >> 32);
}

uint32_t ShapePass::intern(const Shape& shape) {
  if (auto it = distinct_.find(shape); it != distinct_.end()) return *it;
  graph_.shapes_.push_back(shape);
  auto id = static_cast<uint32_t>(graph_.shapes_.size() - 1);
  distinct_.insert(id);
  return id;
}

void ShapePass::report(NodeId id, const Status& status, const NodeShapeContext& context) {
  std::string shapes;
  for (uint32_t shape : in_ids_) append(shapes, shapes.empty() ? "" : ", ", graph_.shapes_[shape].to_string());
  std::string knowledge = context.knowledge();
  problems_.add(
      graph_.nodes_[id].position,
      cat(status.message(), " for '", summarize_node(graph_, id), "' with input shapes: ", shapes, knowledge, "."), {},
      status.code());
}

}  // namespace emplace
