#include "core/formats/library_reader.h"

#include "core/base/cat.h"
#include "core/formats/attr_reader.h"
#include "core/formats/declarations.h"
#include "core/formats/graph_builder.h"
#include "core/formats/node_reader.h"
#include "core/formats/object_reader.h"
#include "core/formats/value_reader.h"
#include "core/graph/function_attrs.h"

namespace emplace {
namespace {

using Kind = JsonReader::Kind;

enum FunctionKey { kSignature, kNodeDef, kRet, kControlRet, kAttr };
constexpr std::string_view kFunctionKeys[] = {
    "signature", "node_def", "ret", "control_ret", "attr", "arg_attr", "resource_arg_unique_id"};
enum LibraryKey { kFunction, kGradient };
constexpr std::string_view kLibraryKeys[] = {"function", "gradient", "registered_gradients"};

// Visits the functions and, if asked for, the gradients of the library, which is the next value: each list in its
// place, as passing over one takes as long as reading it.
template <class Visit>
void for_each_function(LoadContext& c, const Visit& visit, void (*gradient)(LoadContext&)) {
  for (ObjectReader library(c.reader, kLibraryKeys, "the library"); library.next();) {
    if (library.field() == kFunction && expect(c.reader, Kind::kArray, "function")) {
      for (c.reader.enter_array(); c.reader.next_element();) visit();
    } else if (library.field() == kGradient && gradient && expect(c.reader, Kind::kArray, "gradient")) {
      for (c.reader.enter_array(); c.reader.next_element();) gradient(c);
    }
  }
}

// {"function_name": ..., "gradient_func": ...}: both must be known.
void check_gradient(LoadContext& c) {
  static constexpr std::string_view kKeys[] = {"function_name", "gradient_func"};
  for (ObjectReader gradient(c.reader, kKeys, "a gradient"); gradient.next();) {
    size_t at = c.reader.position();
    auto name = read_text(c.reader, kKeys[gradient.field()]);
    bool known =
        !name || c.file.library.contains(std::string(*name)) || (gradient.field() == 0 && c.file.ops->find(*name));
    if (!known) c.reader.problem(at, cat("gradient: there is no function '", *name, "'"));
  }
}

// {"name": "node"}: nodes that run whenever the function is called.
std::vector<std::string> read_control_results(LoadContext& c, const Graph& body, size_t position) {
  std::vector<std::string> nodes;
  size_t after = c.reader.position();
  c.reader.seek(position);
  if (expect(c.reader, Kind::kObject, "control_ret")) {
    c.reader.enter_object();
    for (std::string_view key; c.reader.next_key(key);) {
      size_t at = c.reader.position();
      auto node = read_text(c.reader, "control_ret");
      if (node && body.find(*node) == kNoNode)
        c.reader.problem(at, cat("control_ret: there is no node '", *node, "' in the function"));
      if (node) nodes.emplace_back(*node);
    }
  }
  c.reader.seek(after);
  return nodes;
}

OwnAttrs read_own_attrs(LoadContext& c) {
  OwnAttrs attrs;
  if (!expect(c.reader, Kind::kObject, "attr")) return attrs;
  c.reader.enter_object();
  for (std::string_view key; c.reader.next_key(key);) {
    std::string name(key);
    if (std::optional<AttrValue> value = read_attr(c, name, {}, DType::kInvalid))
      attrs.emplace_back(std::move(name), std::move(*value));
  }
  return attrs;
}

// The body of one function while it is read: first its arguments, then its nodes, then its results. Without nodes the
// results are arguments, as those of a branch that hands one on.
class BodyReader {
 public:
  BodyReader(LoadContext& c, Function& function)
      : c_(c), function_(function), builder_(c, new_body()), nodes_(c, builder_), attrs_(c, builder_.graph()) {
    Graph& g = builder_.graph();
    int64_t index = 0;
    for (const ArgSignature& arg : function_.signature.inputs) {
      builder_.add_source({g.keep(arg.name), kNoPosition, g.intern("_Arg"), 0, end_attrs(arg, index++)});
    }
  }

  /// They are the next value.
  void read_nodes() { nodes_.read_list(); }
  /// Both are somewhere else. The reader stays where it is.
  void finish(std::optional<size_t> nodes, std::optional<size_t> results) {
    const size_t after = c_.reader.position();
    if (nodes) {
      c_.reader.seek(*nodes);
      read_nodes();
    }
    if (results) read_results(*results);
    builder_.finish();
    c_.reader.seek(after);
  }

 private:
  Graph& new_body() {
    function_.body = std::make_unique<Graph>();
    function_.body->source_ = c_.file.source;
    function_.body->texts_.share(c_.file.graph.texts_);
    return *function_.body;
  }

  uint32_t end_attrs(const ArgSignature& arg, int64_t index) {
    std::vector<Attrs::Entry> out{{"index", attrs_.keep(AttrValue::of(index))}};
    if (arg.type != DType::kInvalid) {
      out.push_back({"T", attrs_.type_value(arg.type)});
    } else if (arg.type_attr >= 0) {
      const std::string& name = function_.signature.attrs[static_cast<size_t>(arg.type_attr)].name;
      out.push_back({"T", attrs_.keep(AttrValue({AttrKind::kPlaceholder, false}, name))});
    }
    return attrs_.add(std::move(out));
  }

  // {"result": "node:output:0"}, in the order of the signature's results.
  void read_results(size_t position) {
    std::map<std::string_view, std::pair<std::string_view, size_t>> tensors;
    c_.reader.seek(position);
    if (!expect(c_.reader, Kind::kObject, "ret")) return;
    c_.reader.enter_object();
    for (std::string_view key; c_.reader.next_key(key);) {
      size_t at = c_.reader.position();
      if (auto tensor = read_text(c_.reader, "ret")) tensors[key] = {*tensor, at};
    }
    Graph& g = builder_.graph();
    int64_t index = 0;
    for (const ArgSignature& arg : function_.signature.outputs) {
      auto found = tensors.find(arg.name);
      if (found == tensors.end()) {
        c_.reader.problem(
            position, cat("function '", function_.signature.name, "' says no tensor for its result '", arg.name, "'"));
        continue;
      }
      auto [tensor, at] = found->second;
      if (!builder_.add_input(tensor, {})) c_.reader.problem(at, cat("'", tensor, "' names no tensor"));
      builder_.add_node({g.keep(cat(arg.name, "_RetVal")), static_cast<int64_t>(at), g.intern("_Retval"), 0,
                         end_attrs(arg, index++)});
    }
  }

  LoadContext& c_;
  Function& function_;
  GraphBuilder builder_;
  NodeReader nodes_;
  AttrSets attrs_;
};

// Of the signature that is the next value.
std::string_view read_function_name(LoadContext& c) {
  static constexpr std::string_view kName = "name";
  std::string_view name;
  c.reader.enter_object();
  for (std::string_view key; c.reader.next_key(key);) {
    if (key == kName) {
      name = c.reader.take_string();
    } else {
      c.reader.skip();
    }
  }
  return name;
}

}  // namespace

void read_library_signatures(LoadContext& c) {
  const auto visit = [&] {
    for (ObjectReader object(c.reader, kFunctionKeys, "a function"); object.next();) {
      if (object.field() != kSignature) continue;
      size_t at = c.reader.position();
      auto signature = read_op_def(c);
      if (!signature) continue;
      std::string name = signature->name;
      if (!c.file.library.try_emplace(name, Function{std::move(*signature), nullptr}).second) {
        c.reader.problem(at, cat("a second function named '", name, "'"));
      }
    }
  };
  for_each_function(c, visit, nullptr);
}

void read_library_bodies(LoadContext& c, size_t position) {
  c.reader.seek(position);
  c.in_function = true;
  const auto visit = [&] {
    auto function = c.file.library.end();
    std::optional<BodyReader> body;
    std::optional<size_t> nodes, results, control_results;
    OwnAttrs attrs;
    size_t at = c.reader.position();
    for (ObjectReader object(c.reader, kFunctionKeys, "a function"); object.next();) {
      if (object.field() == kSignature) {
        const std::string_view name = read_function_name(c);
        if (body) continue;
        function = c.file.library.find(std::string(name));
        if (function != c.file.library.end()) body.emplace(c, function->second);
      }
      if (object.field() == kNodeDef && body) {
        body->read_nodes();
      } else if (object.field() == kNodeDef) {
        nodes = c.reader.position();
      }
      if (object.field() == kRet) results = c.reader.position();
      if (object.field() == kControlRet) control_results = c.reader.position();
      if (object.field() == kAttr) attrs = read_own_attrs(c);
    }
    if (!body) return c.reader.problem(at, "a function without a signature");
    body->finish(nodes, results);
    // A body with problems of its own has no names to look up.
    if (control_results && c.problems.empty()) {
      attrs.emplace_back(
          kControlResults,
          AttrValue::list_of(AttrKind::kString, read_control_results(c, *function->second.body, *control_results)));
    }
    keep_own_attrs(*function->second.body, std::move(attrs));
  };
  for_each_function(c, visit, check_gradient);
  c.in_function = false;
}

std::optional<uint32_t> LoadContext::output_slot(const Graph& g, NodeId node, std::string_view output, uint32_t index) {
  const OpSignature* op = signature(g.op(node));
  if (!op) return index;
  Attrs written(g.written_attrs(node));
  uint32_t slot = 0;
  for (const ArgSignature& arg : op->outputs) {
    if (arg.name == output) return slot + index;
    int64_t length = 1;
    if (arg.number_attr >= 0) {
      const AttrValue* n = written.find(op->attrs[static_cast<size_t>(arg.number_attr)].name);
      length = n && n->get_if<int64_t>() ? n->get<int64_t>() : 1;
    } else if (arg.type_list_attr >= 0) {
      const AttrValue* types = written.find(op->attrs[static_cast<size_t>(arg.type_list_attr)].name);
      const auto* list = types ? types->get_if<std::vector<DType>>() : nullptr;
      length = list ? static_cast<int64_t>(list->size()) : 0;
    }
    slot += static_cast<uint32_t>(std::clamp<int64_t>(length, 0, INT32_MAX));
  }
  return std::nullopt;
}

}  // namespace emplace
