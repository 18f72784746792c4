#include "core/graph/lower/bodies.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/function_attrs.h"
#include "core/graph/function_body.h"
#include "core/op/attr_text.h"
#include "core/op/trait_table.h"

namespace emplace {
namespace {

bool is_true(const AttrValue& value) {
  if (const bool* flag = value.get_if<bool>()) return *flag;
  const std::string* text = value.get_if<std::string>();
  return !text || !text->empty();
}

// Attrs by which a function asks not to be inlined, or is left to a compiler (XLA, TPU).
bool is_marked(const Attrs& own) {
  static constexpr std::string_view kMarks[] = {"_noinline", "api_implements", "_xla_compile_id", "_tpu_replicate",
                                                "_XlaMustCompile"};
  return std::any_of(std::begin(kMarks), std::end(kMarks), [&](std::string_view mark) {
    const AttrValue* value = own.find(mark);
    return value && is_true(*value);
  });
}

bool is_open(const AttrValue& value) {
  if (value.type().kind == AttrKind::kPlaceholder) return true;
  const auto any_open = [](const FuncValue& f) {
    return std::any_of(f.attrs.begin(), f.attrs.end(), [](const auto& attr) { return is_open(attr.second); });
  };
  if (const auto* f = value.get_if<FuncValue>()) return any_open(*f);
  const auto* list = value.get_if<std::vector<FuncValue>>();
  return list && std::any_of(list->begin(), list->end(), any_open);
}

// What is a result leads nowhere: it has no copy where the body is inlined.
Status check_sources(const Body& body, NodeId id) {
  const auto is_result = [&](const Endpoint& e) { return body.items[e.node].kind == FunctionalOp::kResult; };
  const auto inputs = body.graph->inputs(id), controls = body.graph->controls(id);
  const auto waited_for = std::find(body.control_results.begin(), body.control_results.end(), id);
  if (std::none_of(inputs.begin(), inputs.end(), is_result) &&
      std::none_of(controls.begin(), controls.end(), is_result) &&
      (waited_for == body.control_results.end() || !is_result({id, 0})))
    return ok_status();
  return invalid_argument(cat("function '", body.function, "': node '", body.graph->name(id), "' (", body.graph->op(id),
                              ") reads or waits for a result of the function"));
}

bool has_open_attrs(const Graph& body) {
  for (const auto& set : body.attr_sets_) {
    if (std::any_of(set.begin(), set.end(), [](const Attrs::Entry& entry) { return is_open(*entry.second); }))
      return true;
  }
  return false;
}

FunctionalOp kind_of_op(const OpTraits& op) {
  switch (op.functional) {
    case Functional::kIf:
      return FunctionalOp::kIf;
    case Functional::kCase:
      return FunctionalOp::kCase;
    case Functional::kWhile:
      return FunctionalOp::kWhile;
    case Functional::kCall:
      return FunctionalOp::kCall;
    case Functional::kNone:
      break;
  }
  if (op.argument) return FunctionalOp::kArgument;
  if (op.result) return FunctionalOp::kResult;
  return op.control == Control::kEnter ? FunctionalOp::kEnter : FunctionalOp::kNone;
}

}  // namespace

FunctionalOp Bodies::look_at(uint32_t op) {
  if (op >= kinds_.size()) kinds_.resize(target_.num_texts(), -1);
  const std::string_view text = target_.text(op);
  FunctionalOp found = kind_of_op(traits_of(text));
  if (found == FunctionalOp::kNone && file_.library.contains(std::string(text))) found = FunctionalOp::kNativeCall;
  kinds_[op] = static_cast<int8_t>(found);
  return found;
}

Result<const Body*> Bodies::find(const FuncValue& call) {
  auto [known, is_new] = by_call_.try_emplace(&call, nullptr);
  if (!is_new) return known->second;
  std::unique_ptr<Body>& body = by_text_[summarize_attr(AttrValue({AttrKind::kFunc, false}, call))];
  if (!body) {
    Result<std::unique_ptr<Body>> made = read(call);
    if (!made.ok()) {
      by_call_.erase(known);
      return made.take_status();
    }
    body = made.take();
  }
  known->second = body.get();
  return body.get();
}

Result<std::unique_ptr<Body>> Bodies::read(const FuncValue& call) {
  const auto found = file_.library.find(call.name);
  if (found == file_.library.end() || !found->second.body)
    return not_found(cat("there is no function '", call.name, "' in the library"));
  auto body = std::make_unique<Body>();
  body->function = found->first;
  const Graph* graph = found->second.body.get();
  const Attrs own = own_attrs(*graph);
  body->stays_call = is_marked(own);
  if (has_open_attrs(*graph)) {
    ASSIGN_OR_RETURN(std::unique_ptr<Graph> instance, instantiate_body(file_, found->second, call));
    graph = instances_.emplace_back(std::move(instance)).get();
  }
  body->graph = graph;
  if (const AttrValue* names = own.find(kControlResults)) {
    for (const std::string& name : names->get<std::vector<std::string>>()) {
      if (const NodeId node = graph->find(name); node != kNoNode) body->control_results.push_back(node);
    }
  }

  std::vector<uint32_t> texts(graph->num_texts()), sets(graph->attr_sets_.size());
  std::vector<bool> has_class(sets.size());
  for (uint32_t i = 1; i < texts.size(); ++i) texts[i] = target_.intern(graph->text(i));
  for (uint32_t i = 1; i < sets.size(); ++i) {
    sets[i] = static_cast<uint32_t>(target_.attr_sets_.size());
    const std::vector<Attrs::Entry>& entries = target_.attr_sets_.emplace_back(graph->attr_sets_[i]);
    has_class[i] = Attrs(entries).find("_class") != nullptr;
  }
  body->ends.resize(graph->num_nodes());
  for (NodeId id = 0; id < graph->num_nodes(); ++id) {
    const Node& node = graph->node(id);
    const FunctionalOp kind = kind_of(texts[node.op]);
    body->items.push_back({texts[node.op], texts[node.device], sets[node.attr_set], kind, has_class[node.attr_set]});
    if (kind != FunctionalOp::kArgument && kind != FunctionalOp::kResult) continue;
    auto& ends = kind == FunctionalOp::kArgument ? body->arguments : body->results;
    const AttrValue* index = Attrs(graph->written_attrs(id)).find("index");
    const int64_t* at = index ? index->get_if<int64_t>() : nullptr;
    if (!at || *at < 0 || *at >= graph->num_nodes())
      return invalid_argument(cat("function '", call.name, "': node '", node.name, "' (", graph->op(id),
                                  ") has no index of an argument or result"));
    if (ends.size() <= static_cast<size_t>(*at)) ends.resize(static_cast<size_t>(*at) + 1, kNoNode);
    ends[static_cast<size_t>(*at)] = id;
    body->ends[id] = static_cast<uint32_t>(*at);
  }
  for (NodeId id = 0; id < graph->num_nodes(); ++id) {
    RETURN_IF_ERROR(check_sources(*body, id));
  }
  for (const auto* ends : {&body->arguments, &body->results}) {
    if (std::find(ends->begin(), ends->end(), kNoNode) != ends->end())
      return invalid_argument(cat("function '", call.name, "' lacks one of its arguments or results"));
  }
  body->effects = SideEffects::of(file_, *graph, body->results, body->control_results);
  return body;
}

}  // namespace emplace
