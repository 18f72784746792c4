#include "core/graph/live_types.h"

#include "core/base/cat.h"
#include "core/graph/type_table.h"

namespace emplace {

LiveTypes::LiveTypes(GraphFile& file) : graph_(file.graph), types_(file, graph_, type_problems_, ignored_attrs_) {
  types_.run();
  shapes_.emplace(graph_, shape_problems_);
  shapes_->run();
}

LiveTypes::~LiveTypes() = default;

Status LiveTypes::add(NodeId node) {
  Status status;
  types_.add(node);
  if (graph_.node(node).type == TypeTable::kNone) {
    const auto& found = type_problems_.list();
    status = found.empty() ? internal_error(cat("node '", graph_.name(node), "' has no type"))
                           : Status{found.front().code, found.front().message};
  }
  shapes_->add(node);
  return status;
}

bool LiveTypes::typed(Endpoint e) const {
  return e.node < graph_.num_nodes() && graph_.node(e.node).type < graph_.types().size() &&
         e.slot < graph_.num_outputs(e.node);
}

DType LiveTypes::type(Endpoint e) const { return typed(e) ? graph_.output_type(e) : DType::kInvalid; }

const Shape& LiveTypes::shape(Endpoint e) const { return typed(e) ? graph_.output_shape(e) : graph_.shapes_.front(); }

const Tensor* LiveTypes::value(Endpoint e) { return typed(e) ? shapes_->values().value(e) : nullptr; }

}  // namespace emplace
