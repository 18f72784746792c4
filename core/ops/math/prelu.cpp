// Prelu (TensorFlow.js): x where x >= 0, else alpha * x, with alpha broadcast.
#include "core/ops/kit/elementwise.h"
#include "core/ops/kit/numeric.h"

namespace emplace {
namespace {

struct Prelu {
  template <class T>
  EMPLACE_INLINE static T apply(T x, T alpha) {
    return x < 0 ? alpha * x : x;
  }
};

}  // namespace

OpDef prelu_op() {
  return binary_op("Prelu", "x where x >= 0, else alpha * x; both are broadcast.")
      .cpu(kFloatDouble | DTypeSet{DType::kInt32}, elementwise<Prelu, float, double, int32_t>);
}

}  // namespace emplace
