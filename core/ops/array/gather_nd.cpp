// GatherNd: slices of a tensor, each named by a tuple of indices.
#include <atomic>

#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/moved_variants.h"
#include "core/ops/kit/nd_index.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status gather_nd_shape(ShapeContext& c) {
  const Shape& params = c.input(0);
  ASSIGN_OR_RETURN(Shape indices, c.with_rank_at_least(1, 1));
  int64_t depth = dim_or_unknown(indices, -1);
  if (!params.rank_known() || depth < 0) return ok_status();
  if (depth > params.rank()) {
    return invalid_argument(cat("indices.shape[-1] must be <= params.rank, but saw indices shape: ",
                                indices.to_string(), " and params shape: ", params.to_string()));
  }
  ASSIGN_OR_RETURN(Shape tuples, subshape(indices, 0, -1));
  ASSIGN_OR_RETURN(Shape slice, subshape(params, depth));
  c.set_output(0, concat_shapes(tuples, slice));
  return ok_status();
}

class GatherNd final : public Kernel {
 public:
  explicit GatherNd(const KernelInit& init) {
    const AttrValue* policy = init.attrs.find("bad_indices_policy");
    skip_bad_ = policy != nullptr && policy->get<std::string>() == "IGNORE";
  }

  Status run(KernelContext& c) override {
    const Tensor& params = c.input(0);
    if (params.shape().rank() < 1) return invalid_argument("params must be at least a vector");
    ASSIGN_OR_RETURN(NdIndex index, NdIndex::of(c.input(1), params.shape()));
    Shape out = index.outer;
    for (int i = index.depth; i < params.shape().rank(); ++i) out.add_dim(params.shape().dim(i));
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    if (index.tuples == 0) return ok_status();
    if (params.num_elements() == 0) {
      return invalid_argument("Requested more than 0 entries, but params is empty.  Params shape: " +
                              params.shape().to_string());
    }
    std::atomic<int64_t> bad{-1};
    Tensor& to = c.output(0);
    c.parallel_for(index.tuples, 5 + 0.1 * static_cast<double>(index.slice), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        int64_t from = index.offset(t);
        if (from >= 0) {
          copy_elements(to.dtype(), element_at(params, from), element_at(to, t * index.slice), index.slice);
        } else {
          fill_zero(to, t * index.slice, index.slice);
          bad = t;
        }
      }
    });
    if (bad < 0 || skip_bad_) return ok_status();
    int64_t first = 0;
    while (index.offset(first) >= 0) ++first;
    return invalid_argument(cat(index.out_of_range(first, "param shape "), ", node name: ", c.node_name()));
  }

 private:
  static void fill_zero(Tensor& t, int64_t at, int64_t n) {
    Sequential here;
    with_element(t.dtype(), [&]<class E>(E zero) { fill_elements(here, t.dtype(), &zero, element_at(t, at), n); });
  }

  bool skip_bad_ = false;
};

Status gather_nd_gradient(GradientContext& g) {
  Value indices = g.input(1);
  Value params_shape = g.shape_of(g.input(0), g.type(indices));
  const Shape& form = g.shape(indices);
  if (form.rank_known() && form.rank() == 2 && form.dim(1) == 1) {
    Value rows =
        g.add("Squeeze", {indices}, {{"squeeze_dims", AttrValue::list_of(AttrKind::kInt, std::vector<int64_t>{-1})}});
    g.set_slices(0, g.grad(0), rows, params_shape);
  } else {
    g.set(0, g.add("ScatterNd", {indices, g.grad(0), params_shape}));
  }
  return g.status();
}

}  // namespace

OpDef gather_nd_op() {
  return OpDef("GatherNd")
      .doc("Slices of params, each named by a tuple of indices (the last dimension of indices).")
      .shape(gather_nd_shape)
      .kernel_attr("Tparams")
      .cpu(kMovable, make<GatherNd>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<make<GatherNd>>)
      .gradient(gather_nd_gradient);
}

}  // namespace emplace
