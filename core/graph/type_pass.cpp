#include "core/graph/type_pass.h"

#include <algorithm>
#include <limits>

#include "core/base/cat.h"
#include "core/base/stop.h"
#include "core/base/suggest.h"
#include "core/graph/attr_position.h"
#include "core/graph/colocation.h"
#include "core/graph/literals.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

// Outputs of all nodes together: 5 bytes each, so a small file cannot ask for more memory than this allows.
constexpr size_t kMaxOutputsInAll = size_t{1} << 26;

// Attrs that begin with '_' are asides, unless the op has one of that name: `_class`, of which nearly every node that
// lowering makes has its own.
bool are_asides(std::span<const Attrs::Entry> written, const OpSignature& signature) {
  return std::all_of(written.begin(), written.end(), [&](const Attrs::Entry& attr) {
    return attr.first.starts_with('_') && signature.find_attr(attr.first) < 0;
  });
}

}  // namespace

TypePass::TypePass(const GraphFile& file, Graph& graph, Problems& problems, Problems& warnings)
    : file_(file),
      graph_(graph),
      problems_(problems),
      warnings_(warnings),
      table_(graph),
      inferred_(graph),
      ops_(graph.num_texts()) {
  for (Literal& literal : graph.literals_) literals_.emplace(literal.constant, &literal);
}

void TypePass::run(const std::function<void(NodeId)>& before_node) {
  graph_.types_.clear();
  output_types_.reserve(graph_.num_nodes());
  bool too_many = false, stopped = false;
  OccasionalLook look;
  for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
    begin_node(id);
    stopped = stopped || look.stop_requested();
    if (too_many || stopped) continue;
    if (before_node) before_node(id);
    type_node(id);
    too_many = output_types_.size() > kMaxOutputsInAll;
    if (too_many)
      report(id, cat("the outputs up to here are more than ", kMaxOutputsInAll), {}, Code::kResourceExhausted);
  }
  if (stopped) {
    const Status why = stop_status();
    problems_.add(kNoPosition, why.message(), {}, why.code());
  } else {
    check_back_edges();
  }
  graph_.output_shapes_.assign(output_types_.size(), 0);
}

void TypePass::add(NodeId id) {
  ops_.resize(graph_.num_texts());
  begin_node(id);
  type_node(id);
  graph_.output_shapes_.resize(output_types_.size(), 0);
}

void TypePass::begin_node(NodeId id) {
  graph_.nodes_[id].first_output = static_cast<uint32_t>(output_types_.size());
  graph_.nodes_[id].type = TypeTable::kNone;
}

void TypePass::type_node(NodeId id) {
  const Node& node = graph_.nodes_[id];
  if (!literals_.empty() && literals_.contains(id)) {  // its consumer settles it
    output_types_.push_back(DType::kInvalid);
    return;
  }
  if (!gather_inputs(id)) return;
  OpInfo& op = op_info(node.op);
  if (!op.signature) {
    report_unknown_op(id);
    return;
  }
  if (has_open_literal_) settle_literals(id, op);
  TypeTable::Key key{node.op, node.attr_set, actual_};
  uint32_t type = table_.find(key);
  if (type == TypeTable::kNone) type = make_type(id, op, key);
  if (type != TypeTable::kNone) set_type(id, type);
}

// The types that arrive; false (and reported) if an input names an output that does not exist.
bool TypePass::gather_inputs(NodeId id) {
  actual_.clear();
  has_open_literal_ = false;
  bool good = true;
  auto inputs = graph_.inputs(id);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const Endpoint& e = inputs[i];
    if (e.node >= id) {
      if (op_info(graph_.node(id).op).traits->control != Control::kMerge) {
        report(id, cat("input '", graph_.name(e.node), "' closes a cycle"),
               "only a Merge may read what comes after it");
        good = false;
      }
      back_edges_.push_back({id, i});
      actual_.push_back(DType::kInvalid);
      continue;
    }
    const uint32_t first = graph_.nodes_[e.node].first_output;
    const uint32_t count = graph_.nodes_[e.node + 1].first_output - first;
    if (e.slot < count) {
      actual_.push_back(output_types_[first + e.slot]);
      if (actual_.back() == DType::kInvalid && literals_.contains(e.node)) has_open_literal_ = true;
      continue;
    }
    actual_.push_back(DType::kInvalid);
    if (graph_.nodes_[e.node].type == TypeTable::kNone) continue;  // has a problem of its own
    problems_.add(position_of_input(id, i),
                  cat("Node '", graph_.name(id), "': Connecting to invalid output ", e.slot, " of source node ",
                      graph_.name(e.node), " which has ", count, " outputs."));
    good = false;
  }
  return good;
}

TypePass::OpInfo& TypePass::op_info(uint32_t op) {
  OpInfo& info = ops_[op];
  if (info.known) return info;
  info.known = true;
  std::string_view name = graph_.text(op);
  info.traits = &traits_of(name);
  if (auto function = file_.library.find(std::string(name)); function != file_.library.end()) {
    info.signature = &function->second.signature;
    info.is_function = true;
  } else {
    info.signature = file_.ops->find(name);
    info.def = info.signature ? OpLibrary::find(name) : nullptr;
  }
  return info;
}

void TypePass::report_unknown_op(NodeId id) {
  std::string hint;
  if (!problems_.full()) {
    const std::string_view op = graph_.op(id);
    Suggestion near(op.substr(op.rfind('.') + 1));  // "tf.matmul", as Python has it
    for (std::string_view name : file_.ops->names()) near.offer(name);
    for (const auto& [name, function] : file_.library) near.offer(name);
    hint = near.best().empty() ? "'emplace ops' lists the ops that emplace runs" : near.text();
  }
  const bool shown = graph_.source_ && !problems_.full();
  const int64_t at = graph_.nodes_[id].position;
  problems_.add(shown ? op_position(graph_.source_->text(), at) : at, cat("unknown op '", graph_.op(id), "'"),
                std::move(hint), Code::kNotFound);
}

int64_t TypePass::position_of_input(NodeId id, uint32_t input) const {
  const int64_t at = graph_.nodes_[id].position;
  return graph_.source_ && !problems_.full() ? input_position(graph_.source_->text(), at, input) : at;
}

void TypePass::set_type(NodeId id, uint32_t type) {
  graph_.nodes_[id].type = type;
  for (DType output : table_.outputs(type)) output_types_.push_back(output);
}

uint32_t TypePass::make_type(NodeId id, OpInfo& op, const TypeTable::Key& key) {
  const OpSignature& signature = *op.signature;
  if (signature.deprecated_since > 0 && file_.producer >= signature.deprecated_since) {
    report(id,
           cat("Op ", signature.name, " is not available in GraphDef version ", file_.producer,
               ". It has been removed in version ", signature.deprecated_since, ". ", signature.deprecation, "."),
           {}, Code::kUnimplemented);
    return TypeTable::kNone;
  }
  auto written = graph_.written_attrs(id);
  const bool asides = are_asides(written, signature);
  if (asides && op.aside_type != TypeTable::kNone && std::ranges::equal(table_.key(op.aside_type).inputs, key.inputs)) {
    NodeType type = graph_.types_[op.aside_type];
    const auto implied = type.attrs.subspan(graph_.attr_sets_[table_.key(op.aside_type).attr_set].size());
    auto& attrs = graph_.type_lists_.attrs.emplace_back();
    attrs.reserve(written.size() + implied.size());
    attrs.insert(attrs.end(), written.begin(), written.end());
    attrs.insert(attrs.end(), implied.begin(), implied.end());
    type.attrs = attrs;
    return table_.add(key, type);
  }
  TypeBuilder& builder = builder_;
  builder.start(signature, written, key.inputs);
  builder.match_attrs();
  if (builder.problems().empty()) builder.infer(inferred_);
  bool whole = builder.problems().empty() && builder.finish();
  for (const auto& problem : builder.problems()) report(id, problem, problems_);
  for (const auto& unknown : builder.unknown_attrs()) report(id, unknown, warnings_);
  if (!whole) return TypeTable::kNone;
  if (auto wrong = builder.first_wrong_input()) {
    for (size_t i = *wrong; i < key.inputs.size(); ++i) {
      DType got = key.inputs[i], wanted = builder.input_types()[i];
      if (got == DType::kInvalid || wanted == DType::kInvalid || got == wanted || base_type(got) == wanted) continue;
      report_wrong_input(id, static_cast<uint32_t>(i), got, wanted);
    }
    return TypeTable::kNone;
  }
  const uint32_t made = table_.add(key, build_type(id, op));
  if (asides) op.aside_type = made;
  return made;
}

// What the builder has found.
NodeType TypePass::build_type(NodeId id, const OpInfo& op) {
  const TypeBuilder& builder = builder_;
  NodeType type;
  type.op = graph_.op(id);
  type.signature = op.is_function ? nullptr : op.signature;
  type.def = op.def;
  type.traits = op.traits;
  type.attrs = graph_.written_attrs(id);
  if (!builder.attrs_as_written()) {
    auto& attrs = graph_.type_lists_.attrs.emplace_back();
    builder.add_attrs(attrs);
    type.attrs = attrs;
  }
  type.input_types = table_.keep(builder.input_types());
  type.output_types = table_.keep(builder.output_types());
  type.input_args = table_.keep(builder.input_args());
  type.output_args = table_.keep(builder.output_args());
  return type;
}

void TypePass::settle_literals(NodeId id, const OpInfo& op) {
  auto inputs = graph_.inputs(id);
  auto literal_at = [&](size_t i) -> Literal* {
    auto it = actual_[i] == DType::kInvalid ? literals_.find(inputs[i].node) : literals_.end();
    return it == literals_.end() ? nullptr : it->second;
  };
  // A stated dtype counts like that of any other input.
  for (size_t i = 0; i < inputs.size(); ++i) {
    Literal* literal = literal_at(i);
    if (literal && literal->typed) actual_[i] = literal->value.dtype();
  }
  TypeBuilder& builder = literal_builder_;
  builder.start(*op.signature, graph_.written_attrs(id), actual_);
  builder.match_attrs();
  if (builder.problems().empty()) builder.infer(inferred_);
  bool known = builder.problems().empty();
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto it = literals_.find(inputs[i].node);
    if (it == literals_.end() || graph_.nodes_[inputs[i].node].type != TypeTable::kNone) continue;
    Literal& literal = *it->second;
    DType type = literal.typed ? literal.value.dtype() : known ? builder.wanted_type(i) : DType::kInvalid;
    if (type == DType::kInvalid) type = natural_literal_type(literal.value, known ? builder.wanted_attr(i) : nullptr);
    settle_literal(literal, type);
    actual_[i] = literal.value.valid() ? type : DType::kInvalid;
  }
}

void TypePass::settle_literal(Literal& literal, DType type) {
  Node& node = graph_.nodes_[literal.constant];
  auto value = convert_literal(literal.value, type);
  if (!value.ok()) {
    report(literal.consumer, cat("input ", literal.input, ": ", value.status().message()), {});
    literal.value = Tensor();
    return;
  }
  literal.value = value.take();
  const AttrValue* dtype = inferred_.of(type);
  const AttrValue* attr = &graph_.attr_values_.emplace_back(AttrValue::of(literal.value));
  graph_.attr_sets_.push_back({{"dtype", dtype}, {"value", attr}});
  node.attr_set = static_cast<uint32_t>(graph_.attr_sets_.size() - 1);
  TypeTable::Key key{node.op, node.attr_set, {}};
  node.type = make_type(literal.constant, op_info(node.op), key);
  output_types_[node.first_output] = type;
}

// A request to be with another node that nobody can meet is one that TensorFlow passes over without a word.
void TypePass::check_colocation() {
  if (!graph_.source_) return;  // what a program wrote often names nodes that it left out
  std::unordered_map<std::string_view, int> askers;
  const auto each = [&](auto&& look) {
    for (NodeId id = 0; id < graph_.num_nodes() && !warnings_.full(); ++id) {
      const AttrValue* written = Attrs(graph_.written_attrs(id)).find("_class");
      const auto* entries = written ? written->get_if<std::vector<std::string>>() : nullptr;
      for (size_t i = 0; entries && i < entries->size(); ++i) look(id, std::string_view((*entries)[i]));
    }
  };
  each([&](NodeId, std::string_view entry) { ++askers[entry]; });
  each([&](NodeId id, std::string_view entry) {
    const bool asks = entry.starts_with(kColocationPrefix);
    const std::string_view other = asks ? entry.substr(kColocationPrefix.size()) : entry;
    if (asks && (askers[entry] > 1 || graph_.find(other) != kNoNode)) return;
    if (graph_.nodes_[id].position == kNoPosition) return;  // nobody wrote it: a function in a file of TensorFlow's
    Suggestion near(other);
    for (NodeId n = 0; n < graph_.num_nodes(); ++n) near.offer(graph_.name(n));
    const std::string meant = near.best().empty() ? std::string() : cat(kColocationPrefix, near.best());
    report(id,
           {asks ? cat("_class: no node is named '", other, "': ignored") : cat("_class: '", entry, "' is ignored"),
            meant.empty() ? "'loc:@NAME' asks to be where the node NAME is" : cat("did you mean '", meant, "'?"),
            "_class"},
           warnings_);
  });
}

void TypePass::check_back_edges() {
  for (const BackEdge& edge : back_edges_) {
    const Endpoint e = graph_.inputs(edge.node)[edge.input];
    const uint32_t consumer = graph_.nodes_[edge.node].type, source = graph_.nodes_[e.node].type;
    if (consumer == TypeTable::kNone || source == TypeTable::kNone) continue;
    auto outputs = graph_.types_[source].output_types;
    if (e.slot >= outputs.size()) {
      problems_.add(position_of_input(edge.node, edge.input),
                    cat("Node '", graph_.name(edge.node), "': Connecting to invalid output ", e.slot,
                        " of source node ", graph_.name(e.node), " which has ", outputs.size(), " outputs."));
      continue;
    }
    DType got = outputs[e.slot], wanted = graph_.types_[consumer].input_types[edge.input];
    if (got != wanted && base_type(got) != wanted) report_wrong_input(edge.node, edge.input, got, wanted);
  }
}

void TypePass::report(NodeId id, std::string_view what, std::string hint, Code code) {
  problems_.add(graph_.nodes_[id].position, cat("node '", graph_.name(id), "' (", graph_.op(id), "): ", what),
                std::move(hint), code);
}

// At the attr that is to blame, if one is.
void TypePass::report(NodeId id, const TypeBuilder::Problem& problem, Problems& to) {
  int64_t at = graph_.nodes_[id].position;
  if (!problem.attr.empty() && graph_.source_ && !to.full())
    at = attr_position(graph_.source_->text(), at, problem.attr);
  to.add(at, cat("node '", graph_.name(id), "' (", graph_.op(id), "): ", problem.message), problem.hint);
}

void TypePass::report_wrong_input(NodeId id, uint32_t input, DType got, DType wanted) {
  const Endpoint e = graph_.inputs(id)[input];
  std::string hint;
  if (graph_.nodes_[id].position == kNoPosition) {
    hint = cat("'", graph_.name(id), "' stands where a function was called, and takes ", dtype_name(wanted),
               " of it or of what calls it");
  } else if (is_ref(wanted)) {
    hint = cat("'", graph_.name(e.node), "' is not a variable, so ", graph_.op(id), " cannot write to it");
  } else {
    const bool numbers = kNumbersAndBool.has(base_type(got)) && kNumbersAndBool.has(wanted);
    hint = cat(graph_.op(id), " node '", graph_.name(id), "' takes ", dtype_name(wanted), " here",
               numbers ? "; a Cast converts" : "");
  }
  problems_.add(position_of_input(id, input),
                cat("Input ", input, " of node ", graph_.name(id), " was passed ", dtype_tf_name(got), " from ",
                    graph_.name(e.node), ":", e.slot, " incompatible with expected ", dtype_tf_name(wanted), "."),
                std::move(hint));
}

}  // namespace emplace
