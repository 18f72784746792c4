#include "core/formats/onnx/body_graph.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/graph_versions.h"

namespace emplace {
namespace {

ArgSignature typed_argument(const char* kind, size_t i, DType type) {
  ArgSignature arg;
  arg.name = cat(kind, i);
  arg.type = type;
  return arg;
}

}  // namespace

OnnxFunctionMaker::OnnxFunctionMaker(OnnxBlock& block, Endpoints& captures)
    : block_(block), file_(std::make_unique<GraphFile>()) {
  file_->source = block.frame().all().file.source;
  file_->ops = std::make_unique<OpTable>();
  file_->graph.source_ = file_->source;
  file_->producer = kGraphDefVersion;
  body_ = std::make_unique<OnnxBody>(*file_);
  body_->share_captures(captures);
}

Endpoint OnnxFunctionMaker::argument(DType type, const Shape& shape) { return body_->argument(type, shape); }

std::vector<OnnxValue> OnnxFunctionMaker::translate(const OnnxGraph& graph, std::vector<OnnxValue> inputs) {
  OnnxTranslation& all = block_.frame().all();
  if (all.depth >= kDeepestGraph) return block_.fail("graphs more than 32 deep"), std::vector<OnnxValue>();
  OnnxFrame frame(all, *body_, &block_.frame(), {});
  frame.declare(graph.initializers);
  frame.note(graph.values);
  frame.note(graph.outputs);
  for (size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i)
    frame.bind_value(graph.inputs[i].name, std::move(inputs[i]));
  ++all.depth;
  const bool good = translate_onnx_nodes(frame, graph.nodes, block_.opsets());
  --all.depth;
  if (!good) return block_.stop(), std::vector<OnnxValue>();
  std::vector<OnnxValue> outputs;
  for (const OnnxValueInfo& output : graph.outputs) {
    outputs.push_back(frame.find_value(output.name));
    if (!outputs.back().known())
      return block_.fail(cat("no node makes the output '", output.name, "'")), std::vector<OnnxValue>();
  }
  return outputs;
}

Endpoints OnnxFunctionMaker::build(const std::function<Endpoints(OnnxBlock&)>& make) {
  OnnxFrame frame(block_.frame().all(), *body_, &block_.frame(), {});
  OnnxBlock inner(frame, block_.node(), block_.opsets(), "in");
  Endpoints made = make(inner);
  if (!inner.failed()) return made;
  block_.stop();
  return {};
}

std::string OnnxFunctionMaker::finish(const std::string& wanted, Endpoints results, bool return_captures) {
  OnnxTranslation& all = block_.frame().all();
  if (block_.failed()) return {};
  body_->complete_captures(block_.frame().body());
  if (return_captures) {
    const Endpoints captured = body_->captured();
    results.insert(results.end(), captured.begin(), captured.end());
  }
  Function function;
  const Endpoints arguments = body_->arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    function.signature.inputs.push_back(typed_argument("arg", i, body_->edit().type(arguments[i])));
  for (size_t i = 0; i < results.size(); ++i) {
    const DType type = body_->edit().type(results[i]);
    NewNode node{.name = body_->free_name(cat("result", i, "_RetVal")), .op = "_Retval", .inputs = {results[i]}};
    node.attrs.emplace_back("T", AttrValue::of(type));
    node.attrs.emplace_back("index", AttrValue::of(static_cast<int64_t>(i)));
    body_->add(std::move(node));
    function.signature.outputs.push_back(typed_argument("result", i, type));
  }
  body_->edit().finish(all.w.c.problems);
  if (!all.w.c.problems.empty()) return block_.stop(), std::string();
  std::string name = onnx_node_name(wanted);
  std::replace(name.begin(), name.end(), '/', '_');
  std::string free = name;
  for (int i = 1; all.file.library.contains(free); ++i) free = cat(name, "_", i);
  function.signature.name = free;
  function.body = std::make_unique<Graph>(std::move(file_->graph));
  all.file.library.emplace(free, std::move(function));
  return free;
}

std::vector<OnnxValue> inline_onnx_graph(OnnxBlock& b, const OnnxGraph& graph, std::vector<OnnxValue> inputs,
                                         std::string_view inner) {
  OnnxTranslation& all = b.frame().all();
  std::vector<OnnxValue> outputs;
  if (all.depth >= kDeepestGraph) return b.fail("graphs more than 32 deep"), outputs;
  OnnxFrame frame(all, b.frame().body(), &b.frame(), cat(b.prefix(), "/", inner, inner.empty() ? "" : "/"));
  frame.declare(graph.initializers);
  frame.note(graph.values);
  for (size_t i = 0; i < inputs.size() && i < graph.inputs.size(); ++i)
    frame.bind_value(graph.inputs[i].name, std::move(inputs[i]));
  ++all.depth;
  const bool good = translate_onnx_nodes(frame, graph.nodes, b.opsets());
  --all.depth;
  if (!good) return b.stop(), outputs;
  for (const OnnxValueInfo& output : graph.outputs) {
    outputs.push_back(frame.find_value(output.name));
    if (!outputs.back().known())
      return b.fail(cat("no node makes the output '", output.name, "'")), std::vector<OnnxValue>();
  }
  return outputs;
}

AttrValue function_attr(std::string name) { return {{AttrKind::kFunc, false}, FuncValue{std::move(name), {}}}; }

std::optional<OnnxGraph> graph_attribute(OnnxBlock& b, std::string_view name) {
  const OnnxAttribute* a = b.attribute(name, OnnxAttributeType::kGraph);
  if (!a) return b.fail(cat("without the graph '", name, "'")), std::nullopt;
  std::optional<OnnxGraph> graph = read_onnx_graph(b.frame().all().w, a->graph);
  if (!graph) b.stop();
  return graph;
}

}  // namespace emplace
