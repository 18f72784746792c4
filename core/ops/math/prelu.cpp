// Prelu (TensorFlow.js): x where x >= 0, else alpha * x, with alpha broadcast.
#include "core/ops/formulas/activation.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
OpDef prelu_op() {
  return binary_op("Prelu", "x where x >= 0, else alpha * x; both are broadcast.")
      .cpu(kFloatDouble | DTypeSet{DType::kInt32}, elementwise<fn::Prelu, float, double, int32_t>);
}

}  // namespace emplace
