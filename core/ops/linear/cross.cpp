// Cross: products of vectors of three.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status cross_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape a, c.with_rank_at_least(0, 1));
  ASSIGN_OR_RETURN(const Shape b, c.with_rank_at_least(1, 1));
  ASSIGN_OR_RETURN(const Shape both, ShapeContext::merge(a, b));
  if (both.rank_known()) RETURN_IF_ERROR(require_dim(dim_or_unknown(both, -1), 3).take_status());
  c.set_output(0, both);
  return ok_status();
}

template <class T>
Status cross_cpu(KernelContext& c) {
  // In unsigned or floating numbers, which do not overflow.
  using Work = std::conditional_t<kIsHalf<T>, float, std::conditional_t<std::is_integral_v<T>, uint64_t, T>>;
  const auto product = [](const T* a, const T* b, int i, int j) {
    return static_cast<T>(static_cast<Work>(a[i]) * static_cast<Work>(b[j]) -
                          static_cast<Work>(a[j]) * static_cast<Work>(b[i]));
  };
  c.parallel_for(c.output(0).num_elements() / 3, 5, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T *a = c.in<T>(0) + 3 * r, *b = c.in<T>(1) + 3 * r;
      T* out = c.out<T>(0) + 3 * r;
      out[0] = product(a, b, 1, 2), out[1] = product(a, b, 2, 0), out[2] = product(a, b, 0, 1);
    }
  });
  return ok_status();
}

Status cross_gradient(GradientContext& g) {
  g.set(0, g.add("Cross", {g.input(1), g.grad(0)}));
  g.set(1, g.add("Cross", {g.grad(0), g.input(0)}));
  return g.status();
}

}  // namespace

OpDef cross_op() {
  return OpDef("Cross")
      .doc("The cross products of vectors of three elements, which are the last dimension.")
      .shape(cross_shape)
      .cpu<float>(stateless<cross_cpu<float>>)
      .cpu<double>(stateless<cross_cpu<double>>)
      .cpu<half>(stateless<cross_cpu<half>>)
      .cpu<bfloat16>(stateless<cross_cpu<bfloat16>>)
      .cpu<int8_t>(stateless<cross_cpu<int8_t>>)
      .cpu<int16_t>(stateless<cross_cpu<int16_t>>)
      .cpu<int32_t>(stateless<cross_cpu<int32_t>>)
      .cpu<int64_t>(stateless<cross_cpu<int64_t>>)
      .cpu<uint8_t>(stateless<cross_cpu<uint8_t>>)
      .cpu<uint16_t>(stateless<cross_cpu<uint16_t>>)
      .cpu<uint32_t>(stateless<cross_cpu<uint32_t>>)
      .cpu<uint64_t>(stateless<cross_cpu<uint64_t>>)
      .gradient(cross_gradient);
}

}  // namespace emplace
