// ClipByValue: every element brought between two bounds.
#include "core/op/gradient_context.h"
#include "core/ops/formulas/arithmetic.h"
#include "core/ops/kit/elementwise.h"

namespace emplace {
namespace {

struct Clip : fn::Clip {
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

Status clip_by_value_gradient(GradientContext& g) {
  Value x = g.input(0), low = g.input(1), high = g.input(2), dy = g.grad(0);
  Value zeros = g.zeros_like(dy);
  Value below = g.add("Less", {x, low}), above = g.add("Greater", {x, high});
  g.set(0, g.add("Select", {g.add("LogicalOr", {below, above}), zeros, dy}));
  Value d_low = g.add("Select", {below, dy, zeros});
  Value d_high = g.add("Select", {above, dy, zeros});
  g.set(1, g.reduce_to(x, low, {}, d_low).second);
  g.set(2, g.reduce_to(x, high, {}, d_high).second);
  return g.status();
}

}  // namespace

OpDef clip_by_value_op() {
  return OpDef("ClipByValue")
      .doc("x, but not below clip_value_min nor above clip_value_max.")
      .shape(shape_unchanged)
      .may_overwrite_input()
      .cpu(kRealNumbers.without(DTypeSet{DType::kUInt32, DType::kUInt64}),
           elementwise<Clip, float, double, int32_t, int64_t>)
      .sample("t=f32[2,3] uniform(-2,2); clip_value_min=f32[] uniform(-1,0); clip_value_max=f32[] uniform(0,1)")
      .gradient(clip_by_value_gradient);
}

}  // namespace emplace
