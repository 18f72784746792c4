// Relu and its relatives: elementwise activation functions that neural networks use.
#include "core/ops/elementwise.h"
#include "core/ops/numeric.h"

namespace emplace {
namespace {

struct Relu {
  template <class T>
  EMPLACE_INLINE static T apply(T x) { return maximum(x, T(0)); }
};

OpDef activation(std::string_view name, std::string_view doc) {
  return OpDef(name).doc(doc).shape(shape_unchanged).may_overwrite_input()
      .sample("features=f32[2,3] uniform(-8,8)").sample("features=f32[0,3]");
}

}  // namespace

OpDef relu_op() {
  return activation("Relu", "max(x, 0); NaN stays.").cpu(kRealNumbers, elementwise<Relu, float, double, int32_t, int64_t, uint64_t>);
}

}  // namespace emplace
