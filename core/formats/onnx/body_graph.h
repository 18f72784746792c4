/// OnnxFunctionMaker: the body of a TensorFlow function, made of a graph inside a node of ONNX.
#pragma once

#include <functional>
#include <memory>

#include "core/formats/onnx/block.h"

namespace emplace {

constexpr int kDeepestGraph = 32;  // graphs inside each other

class OnnxFunctionMaker {
 public:
  /// `captures`: what is read of the names around, see OnnxBody.
  OnnxFunctionMaker(OnnxBlock& block, Endpoints& captures);

  OnnxBody& body() { return *body_; }
  Endpoint argument(DType type, const Shape& shape);
  /// The graph's nodes; its inputs are these. The outputs; none, and the block fails, where something went wrong.
  std::vector<OnnxValue> translate(const OnnxGraph& graph, std::vector<OnnxValue> inputs);
  /// Nodes of our own: `make` gets a block like the node's that makes them in the body. As translate().
  Endpoints build(const std::function<Endpoints(OnnxBlock&)>& make);
  /// Adds the function to the model's library: `wanted`, or the first name after it that is free. `results` may be
  /// followed by all captures as they came in.
  std::string finish(const std::string& wanted, Endpoints results, bool return_captures);

 private:
  OnnxBlock& block_;
  std::unique_ptr<GraphFile> file_;
  std::unique_ptr<OnnxBody> body_;
};

/// An attr that names a function of the library.
AttrValue function_attr(std::string name);

/// The graph's nodes in place of the node, `inner` before their names. The outputs; none, and the block fails, where
/// something went wrong.
std::vector<OnnxValue> inline_onnx_graph(OnnxBlock& b, const OnnxGraph& graph, std::vector<OnnxValue> inputs,
                                         std::string_view inner = {});

/// A node's attribute that is a graph; nothing, and the block fails, if there is none.
std::optional<OnnxGraph> graph_attribute(OnnxBlock& b, std::string_view name);

}  // namespace emplace
