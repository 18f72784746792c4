#include "core/op/variable_reader.h"

#include <algorithm>
#include <iterator>

namespace emplace {

bool gives_handle(OpTable& ops, std::string_view op) {
  const OpSignature* known = ops.find(op);
  return known && !known->outputs.empty() && known->outputs[0].type == DType::kResource;
}

const VariableReader* variable_reader(std::string_view op) {
  static constexpr VariableReader kReaders[] = {{"ReadVariableOp", "Identity", "T"},
                                                {"ResourceGather", "GatherV2", "Tparams", true},
                                                {"ResourceGatherNd", "GatherNd", "Tparams"},
                                                {"VariableShape", "Shape", "T"}};
  auto found = std::find_if(std::begin(kReaders), std::end(kReaders),
                            [&](const VariableReader& r) { return r.of_handle == op; });
  return found == std::end(kReaders) ? nullptr : found;
}

}  // namespace emplace
