// ClipByValue: every element brought between two bounds.
#include "core/ops/elementwise.h"
#include "core/ops/numeric.h"

namespace emplace {
namespace {

struct Clip {
  template <class T>
  EMPLACE_INLINE static T apply(T x, T low, T high) { return minimum(maximum(x, low), high); }

  static Status adapt_shapes(const KernelContext& c, std::span<Shape> inputs) {
    for (size_t i = 1; i < 3; ++i) {
      if (inputs[i] == inputs[0]) continue;
      if (c.input(static_cast<int>(i)).shape().rank() != 0) {
        return invalid_argument(
            "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. ");
      }
    }
    return ok_status();
  }
};

}  // namespace

OpDef clip_by_value_op() {
  return OpDef("ClipByValue").doc("x, but not below clip_value_min nor above clip_value_max.")
      .shape(shape_unchanged).may_overwrite_input()
      .cpu(kRealNumbers.without(DTypeSet{DType::kUInt32, DType::kUInt64}), elementwise<Clip, float, double, int32_t, int64_t>)
      .sample("t=f32[2,3] uniform(-2,2); clip_value_min=f32[] uniform(-1,0); clip_value_max=f32[] uniform(0,1)");
}

}  // namespace emplace
