#include "core/graph/variable_types.h"

#include <unordered_map>
#include <vector>

#include "core/graph/shape_pass.h"
#include "core/graph/type_pass.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

/// Nodes stand in an order in which every initial value comes before its variable: one walk over the types and one over
/// the shapes settle all variables, also those that depend on others.
class VariableSettler {
 public:
  explicit VariableSettler(GraphFile& file) : file_(file), graph_(file.graph) {
    for (const FileVariable& v : file.variables) {
      const bool whole = has_attr(v.variable, "dtype") && has_attr(v.variable, "shape");
      if (v.initial_value.node != kNoNode && !whole) open_.emplace(v.variable, Open{&v, nullptr});
    }
  }

  void run() {
    if (open_.empty()) return;
    std::vector<Literal> literals = graph_.literals_;
    Problems scratch;
    TypePass(file_, graph_, scratch, scratch).run([this](NodeId id) { settle_type(id); });
    ShapePass(graph_, scratch).run([this](NodeId id) { settle_shape(id); });
    graph_.literals_ = std::move(literals);  // validate() settles them anew
  }

 private:
  struct Open {
    const FileVariable* variable;
    AttrValue* shape;  // the attr to fill in; null: the file says it
  };

  bool has_attr(NodeId id, std::string_view name) const {
    return Attrs(graph_.written_attrs(id)).find(name) != nullptr;
  }

  // The node gets an attr set of its own. Null if it has the attr.
  AttrValue* add_attr(NodeId id, std::string_view name, AttrValue value) {
    if (has_attr(id, name)) return nullptr;
    std::vector<Attrs::Entry> attrs(graph_.written_attrs(id).begin(), graph_.written_attrs(id).end());
    AttrValue* kept = &graph_.attr_values_.emplace_back(std::move(value));
    attrs.push_back({name, kept});
    graph_.nodes_[id].attr_set = static_cast<uint32_t>(graph_.attr_sets_.size());
    graph_.attr_sets_.push_back(std::move(attrs));
    return kept;
  }

  bool is_typed(Endpoint e) const {
    return graph_.node(e.node).type < graph_.types_.size() && e.slot < graph_.num_outputs(e.node);
  }

  void settle_type(NodeId id) {
    auto found = open_.find(id);
    if (found == open_.end() || !is_typed(found->second.variable->initial_value)) return;
    const FileVariable& v = *found->second.variable;
    const DType dtype = base_type(graph_.output_type(v.initial_value));
    found->second.shape = add_attr(id, "shape", AttrValue::of(Shape::unknown()));
    add_attr(id, "dtype", AttrValue::of(dtype));
    if (traits_of(graph_.op(v.read)).reads_variable) add_attr(v.read, "dtype", AttrValue::of(dtype));
  }

  void settle_shape(NodeId id) {
    auto found = open_.find(id);
    if (found == open_.end() || !found->second.shape) return;
    *found->second.shape = AttrValue::of(graph_.output_shape(found->second.variable->initial_value));
  }

  GraphFile& file_;
  Graph& graph_;
  std::unordered_map<NodeId, Open> open_;  // by variable
};

}  // namespace

void settle_variable_types(GraphFile& file) { VariableSettler(file).run(); }

}  // namespace emplace
