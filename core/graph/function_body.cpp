#include "core/graph/function_body.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/graph/type_pass.h"

namespace emplace {
namespace {

class Instantiator {
 public:
  Instantiator(const FuncValue& call, Graph& graph) : call_(call), graph_(graph) {}

  // The value with what it leaves open filled in, also in the functions that it names.
  AttrValue filled(const AttrValue& value) {
    if (value.type().kind == AttrKind::kPlaceholder) return of_call(value.get<std::string>());
    if (const auto* f = value.get_if<FuncValue>()) return AttrValue({AttrKind::kFunc, false}, filled(*f));
    if (const auto* list = value.get_if<std::vector<FuncValue>>()) {
      std::vector<FuncValue> out;
      for (const FuncValue& f : *list) out.push_back(filled(f));
      return AttrValue::list_of(AttrKind::kFunc, std::move(out));
    }
    return value;
  }

  void fill(std::vector<Attrs::Entry>& attrs) {
    for (Attrs::Entry& entry : attrs) {
      if (!open(*entry.second)) continue;
      entry.second = &graph_.attr_values_.emplace_back(filled(*entry.second));
    }
  }

  Status status;

 private:
  static bool open(const AttrValue& value) {
    return value.type().kind == AttrKind::kPlaceholder || value.get_if<FuncValue>() ||
           value.get_if<std::vector<FuncValue>>();
  }

  FuncValue filled(const FuncValue& f) {
    FuncValue out{f.name, {}};
    for (const auto& [name, value] : f.attrs) out.attrs.emplace_back(name, filled(value));
    return out;
  }

  AttrValue of_call(const std::string& name) {
    auto found = std::find_if(call_.attrs.begin(), call_.attrs.end(), [&](const auto& a) { return a.first == name; });
    if (found != call_.attrs.end()) return found->second;
    if (status.ok()) status = not_found(cat("No attr named '", name, "' in NodeDef:"));
    return {};
  }

  const FuncValue& call_;
  Graph& graph_;
};

// Nodes, edges and attrs as written; what the types point into belongs to the original.
std::unique_ptr<Graph> untyped_copy(const Graph& body) {
  auto copy = std::make_unique<Graph>();
  copy->nodes_ = body.nodes_;
  copy->edges_ = body.edges_;
  copy->attr_sets_ = body.attr_sets_;
  copy->texts_.share_all(body.texts_);
  copy->source_ = body.source_;
  for (NodeId id = 0; id < copy->num_nodes(); ++id) copy->index_name(id);
  return copy;
}

}  // namespace

Result<std::unique_ptr<Graph>> instantiate_body(const GraphFile& file, const Function& function,
                                                const FuncValue& call) {
  std::unique_ptr<Graph> body = untyped_copy(*function.body);
  Instantiator instantiator(call, *body);
  for (std::vector<Attrs::Entry>& attrs : body->attr_sets_) instantiator.fill(attrs);
  RETURN_IF_ERROR(std::move(instantiator.status));
  Problems problems, warnings;
  TypePass(file, *body, problems, warnings).run();
  if (!problems.empty()) return Status{problems.list().front().code, problems.list().front().message};
  return body;
}

}  // namespace emplace
