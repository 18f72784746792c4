#include "core/train/training_graph.h"

#include "core/base/cat.h"
#include "core/base/printable.h"
#include "core/graph/lookup.h"

namespace emplace {
namespace {

/// A tensor that is one number, as losses and metrics must be.
Endpoint find_scalar(const Graph& g, const NamedRef& ref, std::string_view what, Problems& problems) {
  NameError error;
  Endpoint tensor = find_tensor(g, ref.name, error);
  if (tensor.node == kNoNode) {
    problems.add(ref.position, cat(what, ": ", error.message), error.hint);
    return tensor;
  }
  DType type = base_type(g.output_type(tensor));
  const Shape& shape = g.output_shape(tensor);
  if (!is_floating(type) || !shape.compatible_with(Shape{})) {
    problems.add(ref.position, cat(what, ": '", ref.name, "' is ", dtype_name(type), " of shape ", shape.to_string(),
                                   ", wanted one floating-point number"));
  }
  return tensor;
}

}  // namespace

void find_training(const GraphFile& file, const TrainRequest& request, TrainGraph& out, Problems& problems) {
  const Graph& g = file.graph;
  out.loss = find_scalar(g, request.loss, "loss", problems);
  for (const Metric& metric : request.metrics) {
    out.metrics.emplace_back(metric.name,
                             find_scalar(g, metric.tensor, cat("metric '", printable(metric.name), "'"), problems));
  }
  NameError error;
  const LearningRate& rate = request.learning_rate;
  if (!rate.tensor.empty() && find_tensor(g, rate.tensor, error).node == kNoNode)
    problems.add(rate.position, cat("learning_rate: ", error.message), error.hint);
  for (const NamedRef& ref : request.target) {
    NodeId node = find_node(g, ref.name, error);
    if (node == kNoNode) problems.add(ref.position, cat("target: ", error.message), error.hint);
    out.targets.push_back(node);
  }
}

}  // namespace emplace
