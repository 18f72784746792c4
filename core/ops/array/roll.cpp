// Roll: elements moved along axes; what leaves at one end comes in at the other.
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/array/roll_distances.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status roll_cpu(KernelContext& c) {
  RollDistances shift;
  RETURN_IF_ERROR(find_roll_distances(c, shift));
  const Tensor& in = c.input(0);
  const Shape& shape = in.shape();
  with_element(in.dtype(), [&]<class E>(E) {
    const auto* from = static_cast<const E*>(in.raw());
    auto* to = static_cast<E*>(c.output(0).raw());
    c.parallel_for(in.num_elements(), 4.0 * shape.rank(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t rest = i, place = 0, stride = 1;
        for (int d = shape.rank() - 1; d >= 0; --d) {
          const int64_t size = shape.dim(d), at = rest % size + shift[static_cast<size_t>(d)];
          place += (at < size ? at : at - size) * stride;
          rest /= size;
          stride *= size;
        }
        to[place] = from[i];
      }
    });
  });
  return ok_status();
}

Status roll_gradient(GradientContext& g) {
  g.set(0, g.add("Roll", {g.grad(0), g.add("Neg", {g.input(1)}), g.input(2)}));
  return g.status();
}

Status roll_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank_at_least(0, 1).take_status());
  RETURN_IF_ERROR(require_rank_at_most(c.input(1), 1).take_status());
  RETURN_IF_ERROR(require_rank_at_most(c.input(2), 1).take_status());
  RETURN_IF_ERROR(ShapeContext::merge(c.input(1), c.input(2)).take_status());
  c.set_output(0, c.input(0));
  return ok_status();
}

}  // namespace

OpDef roll_op() {
  return OpDef("Roll")
      .doc("The tensor's elements moved along axes; what leaves at one end comes in at the other.")
      .shape(roll_shape)
      .kernel_attr("T")
      .cpu(kAllData, stateless<roll_cpu>)
      .gradient(roll_gradient)
      .sample("input=f32[3,4] uniform(-2,2); shift=[1,-2]; axis=[0,1]");
}

}  // namespace emplace
