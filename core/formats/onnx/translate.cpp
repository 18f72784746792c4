// Part of core/formats/onnx/frame.h: translate_onnx_nodes(): nodes one after the other, in the order of the file.
#include <algorithm>

#include "core/base/cat.h"
#include "core/formats/onnx/byte_moves.h"
#include "core/formats/onnx/layout.h"

namespace emplace {
namespace {

constexpr int kDeepest = 64;                      // functions and graphs inside each other
constexpr int64_t kMostNodes = int64_t{1} << 20;  // of a graph into which functions are put

/// The outputs get their names: a node that is one tensor takes it, other tensors are found by it.
void bind_outputs(OnnxBlock& b, const Endpoints& outputs, NodeId first_own) {
  OnnxFrame& frame = b.frame();
  OnnxBody& body = frame.body();
  for (size_t i = 0; i < b.num_outputs(); ++i) {
    const std::string_view name = b.node().outputs[i];
    if (name.empty()) continue;
    if (!frame.make(name)) {
      b.fail(cat("output '", name, "' has the name of another node's"));
      return;
    }
    if (frame.find_sequence(name)) continue;
    if (i >= outputs.size() || outputs[i].node == kNoNode) {
      b.fail(cat("output ", i, " ('", name, "') is not made"));
      return;
    }
    Endpoint tensor = outputs[i];
    const Graph& g = b.edit().graph();
    const std::string wanted = cat(frame.prefix(), onnx_node_name(name));
    body.release(wanted);
    const bool used = std::count(outputs.begin(), outputs.end(), tensor) > 1;
    if (tensor.node < first_own || used) tensor = b.make("Identity", {tensor});
    if (tensor.node == kNoNode) return;
    const bool alone = g.num_outputs(tensor.node) == 1;
    std::string now = body.free_name(wanted);
    if (alone) b.edit().rename(tensor.node, now);
    if (frame.prefix().empty() && (!alone || now != name))
      body.file().signature_names[std::string(name)] =
          alone || tensor.slot == 0 ? std::string(g.name(tensor.node)) : cat(g.name(tensor.node), ":", tensor.slot);
    // Where control flow hides a shape, the file's own word for it tells how to go on.
    const OnnxValueInfo* info = b.shape(tensor).rank_known() ? nullptr : frame.info(name);
    if (info && info->shape.rank_known()) b.edit().known().set_shape(tensor, info->shape);
    frame.bind(name, tensor);
  }
}

/// A function of the model: its nodes in place of the node, with names of their own.
Endpoints inline_onnx_function(OnnxBlock& b, const OnnxFunction& f) {
  OnnxTranslation& all = b.frame().all();
  if (all.depth >= kDeepest) return b.fail("functions more than 64 deep, or one that calls itself"), Endpoints();
  if (b.edit().graph().num_nodes() > kMostNodes)
    return b.fail(cat("functions that make more than ", kMostNodes, " nodes")), Endpoints();
  OnnxFrame inner(all, b.frame().body(), nullptr, cat(b.prefix(), "/"));
  if (b.num_inputs() > f.inputs.size())
    return b.fail(cat("a call of ", b.num_inputs(), " inputs; the function has ", f.inputs.size())), Endpoints();
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    if (b.is_sequence(i))
      inner.bind_sequence(f.inputs[i], b.sequence(i));
    else if (b.has(i))
      inner.bind(f.inputs[i], b.input(i));
  }
  std::vector<OnnxNode> nodes = f.nodes;
  for (OnnxNode& node : nodes) {
    for (std::string_view& input : node.inputs) {
      const auto at = std::find(f.inputs.begin(), f.inputs.end(), input);
      if (at != f.inputs.end() && !b.has(static_cast<size_t>(at - f.inputs.begin()))) input = {};
    }
    std::vector<OnnxAttribute> attributes;
    for (const OnnxAttribute& a : node.attributes) {
      if (a.of_function.empty()) {
        attributes.push_back(a);
        continue;
      }
      const auto named = [&](const OnnxAttribute& other) { return other.name == a.of_function; };
      auto given = std::find_if(b.node().attributes.begin(), b.node().attributes.end(), named);
      auto standard = std::find_if(f.defaults.begin(), f.defaults.end(), named);
      const OnnxAttribute* value = given != b.node().attributes.end() ? &*given
                                   : standard != f.defaults.end()     ? &*standard
                                                                      : nullptr;
      if (value) attributes.push_back(*value), attributes.back().name = a.name;
    }
    node.attributes = std::move(attributes);
  }
  ++all.depth;
  const bool good = !b.failed() && translate_onnx_nodes(inner, nodes, f.opsets);
  --all.depth;
  Endpoints out;
  if (!good) return out;
  for (std::string_view name : f.outputs) {
    if (const OnnxSequence* sequence = inner.find_sequence(name)) b.make_sequence(*sequence, out.size());
    out.push_back(inner.find(name));
  }
  return out;
}

/// What is wrong with the op; empty: there is such an op.
std::string onnx_op_problem(const OnnxTranslation& all, const OnnxNode& n, int64_t version, std::string& hint) {
  if (all.model.functions.contains({n.domain, n.op})) return {};
  if (find_onnx_op(onnx_op_name(n.domain, n.op), version)) return {};
  if (!n.domain.empty()) {
    hint = "ops of ai.onnx are read, functions of the model, and a few ops of ai.onnx.ml and com.microsoft";
    return cat("unknown op '", n.domain, ".", n.op, "'");
  }
  if (find_onnx_op(n.op, kLastOnnxOpset)) return cat(n.op, " of operator set ", version, " is not read");
  hint = near_onnx_op(n.op);
  return cat("unknown op '", n.op, "'");
}

void translate_onnx_node(OnnxBlock& b) {
  OnnxTranslation& all = b.frame().all();
  const OnnxNode& n = b.node();
  b.frame().body().set_position(all.w.position_of(n.at));
  const NodeId first_own = b.edit().graph().num_nodes();
  const auto function = all.model.functions.find({n.domain, n.op});
  Endpoints outputs;
  if (function != all.model.functions.end()) {
    outputs = inline_onnx_function(b, function->second);
  } else if (const OnnxOp* op = find_onnx_op(onnx_op_name(n.domain, n.op), b.version())) {
    std::optional<Endpoints> made = b.is_sequence(0)  ? std::nullopt
                                    : op->elementwise ? translate_channels_last(b, *op)
                                                      : translate_as_bytes(b, *op);
    outputs = made ? std::move(*made) : b.failed() ? Endpoints() : op->translate(b);
  } else {
    std::string hint, wrong = onnx_op_problem(all, n, b.version(), hint);
    b.fail(std::move(wrong), std::move(hint));
  }
  if (!b.failed() && all.w.c.problems.empty()) bind_outputs(b, outputs, first_own);
}

}  // namespace

bool check_onnx_ops(OnnxTranslation& all, const std::vector<OnnxNode>& nodes, const OnnxOpsets& opsets) {
  std::set<std::pair<std::string_view, std::string_view>> told;
  for (const OnnxNode& n : nodes) {
    const auto own = opsets.find(n.domain);
    std::string hint, wrong = onnx_op_problem(all, n, own == opsets.end() ? 1 : own->second, hint);
    if (wrong.empty() || !told.insert({n.domain, n.op}).second) continue;
    all.w.c.problems.add(all.w.position_of(n.at), std::move(wrong), std::move(hint), Code::kNotFound);
  }
  return told.empty();
}

bool translate_onnx_nodes(OnnxFrame& frame, const std::vector<OnnxNode>& nodes, const OnnxOpsets& opsets) {
  Problems& problems = frame.all().w.c.problems;
  std::map<std::string_view, int> numbers;
  for (const OnnxNode& node : nodes) {
    const std::string own = node.name.empty() ? cat(node.op, "_", numbers[node.op]++) : std::string(node.name);
    OnnxBlock block(frame, node, opsets, cat(frame.prefix(), onnx_node_name(own)));
    translate_onnx_node(block);
    if (!problems.empty() || !frame.all().w.c.may_go_on()) return false;
  }
  return true;
}

}  // namespace emplace
