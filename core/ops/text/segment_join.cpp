// UnsortedSegmentJoin: texts of one segment joined.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status segment_join_shape(ShapeContext& c) {
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  const Shape &texts = c.input(0), &ids = c.input(1);
  if (!texts.rank_known() || !ids.rank_known()) return ok_status();
  ASSIGN_OR_RETURN(const Shape outer, subshape(texts, 0, ids.rank()));
  RETURN_IF_ERROR(require_rank_at_least(texts, ids.rank()).take_status());
  RETURN_IF_ERROR(ShapeContext::merge(outer, ids).take_status());
  ASSIGN_OR_RETURN(const int64_t count, dim_from_scalar(c, 2));
  ASSIGN_OR_RETURN(const Shape inner, subshape(texts, ids.rank()));
  c.set_output(0, concat_shapes(Shape{count}, inner));
  return ok_status();
}

class UnsortedSegmentJoin final : public Kernel {
 public:
  explicit UnsortedSegmentJoin(const KernelInit& init) : separator_(init.attrs.text("separator")) {}

  Status run(KernelContext& c) override {
    const Shape &texts = c.input(0).shape(), &ids = c.input(1).shape();
    const int64_t count = int_at(c.input(2), 0);
    if (count < 0) return invalid_argument(cat("Input num_segments must be non-negative, not ", count));
    if (ids.rank() == 0) return invalid_argument("Input segment_ids cannot have rank 0");
    Shape out{count};
    int64_t width = 1;
    for (int d = 0; d < texts.rank(); ++d) {
      if (d < ids.rank() && texts.dim(d) != ids.dim(d)) return do_not_fit(texts, ids);
      if (d >= ids.rank()) out.add_dim(texts.dim(d)), width *= texts.dim(d);
    }
    if (texts.rank() < ids.rank()) return do_not_fit(texts, ids);
    RETURN_IF_ERROR(ensure_output(c, 0, out));
    fill_zeros(*c.parallel_, c.output(0));
    ASSIGN_OR_RETURN(Tensor begun, c.allocate_scratch(DType::kBool, Shape{count}));
    std::fill_n(begun.data<bool>(), count, false);
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      const int64_t id = int_at(c.input(1), i);
      if (id < 0 || id >= count)
        return invalid_argument("segment_ids are not allowed to exceed num_segments or to have negative values.");
      const bool follows = std::exchange(begun.data<bool>()[id], true);
      for (int64_t k = 0; k < width; ++k) {
        std::string& to = c.out<std::string>(0)[id * width + k];
        if (follows) to += separator_;
        to += c.in<std::string>(0)[i * width + k];
      }
    }
    return ok_status();
  }

 private:
  static Status do_not_fit(const Shape& texts, const Shape& ids) {
    return invalid_argument(
        cat("segment_ids of shape ", ids.to_string(), " are not the outer dimensions of ", texts.to_string()));
  }
  const std::string separator_;
};

}  // namespace

OpDef unsorted_segment_join_op() {
  return OpDef("UnsortedSegmentJoin")
      .doc("The texts of each segment, joined.")
      .shape(segment_join_shape)
      .value_inputs({2})
      .cpu(make<UnsortedSegmentJoin>)
      .not_differentiable();
}

}  // namespace emplace
