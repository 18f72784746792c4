#include "core/formats/graph_versions.h"

#include "core/base/cat.h"

namespace emplace {

std::string min_consumer_problem(int min_consumer) {
  if (min_consumer <= kGraphDefVersion) return {};
  return cat("the graph wants a reader of GraphDef version ", min_consumer, "; this one reads up to ", kGraphDefVersion,
             ", as TensorFlow 2.21");
}

std::string bad_consumer_problem(int bad_consumer) {
  if (bad_consumer != kGraphDefVersion) return {};
  return cat("the graph refuses readers of GraphDef version ", kGraphDefVersion, ", which this one is");
}

}  // namespace emplace
