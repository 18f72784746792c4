// OneHot: an axis on which one place is on and the others are off.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status one_hot_shape(ShapeContext& c) {
  int64_t axis = c.attrs().integer("axis");
  if (axis < -1) return invalid_argument("axis must be >= -1");
  ASSIGN_OR_RETURN(int64_t depth, dim_from_scalar(c, 1));
  RETURN_IF_ERROR(c.with_rank(2, 0).take_status());
  RETURN_IF_ERROR(c.with_rank(3, 0).take_status());
  const Shape& indices = c.input(0);
  if (!indices.rank_known()) return ok_status();
  if (indices.rank() >= kMaxRank) return invalid_argument(cat("more than ", kMaxRank, " dimensions"));
  int64_t places = indices.rank() + 1;  // one too large is for the kernel to refuse
  int64_t at = (axis % places + places) % places;
  ASSIGN_OR_RETURN(Shape before, subshape(indices, 0, at));
  ASSIGN_OR_RETURN(Shape after, subshape(indices, at));
  c.set_output(0, concat_shapes(concat_shapes(before, Shape{depth}), after));
  return ok_status();
}

int64_t class_at(const Tensor& indices, int64_t i) {
  switch (indices.dtype()) {
    case DType::kUInt8:
      return indices.data<uint8_t>()[i];
    case DType::kInt8:
      return indices.data<int8_t>()[i];
    default:
      return int_at(indices, i);
  }
}

class OneHot final : public Kernel {
 public:
  explicit OneHot(const KernelInit& init) : axis_(init.attrs.integer("axis")) {}

  Status run(KernelContext& c) override {
    const Tensor& indices = c.input(0);
    const Shape& s = indices.shape();
    if (axis_ < -1 || axis_ > s.rank()) {
      return invalid_argument(cat("Expected axis to be -1 or between [0, ", s.rank() + 1, ").  But received: ", axis_));
    }
    constexpr std::string_view kScalars[] = {"depth", "on_value", "off_value"};
    for (int i = 1; i <= 3; ++i) {
      if (c.input(i).shape().rank() == 0) continue;
      return invalid_argument(cat(kScalars[i - 1], " must be a scalar, but got: ", c.input(i).shape().to_string()));
    }
    int64_t depth = int_at(c.input(1), 0);
    if (depth < 0) return invalid_argument(cat("depth must be non-negative, got: ", depth));
    int axis = axis_ == -1 ? s.rank() : static_cast<int>(axis_);
    Shape shape;
    int64_t outer = 1;
    for (int i = 0; i < s.rank(); ++i) {
      if (i == axis) shape.add_dim(depth);
      if (i < axis) outer *= s.dim(i);
      shape.add_dim(s.dim(i));
    }
    if (axis == s.rank()) shape.add_dim(depth);
    RETURN_IF_ERROR(ensure_output(c, 0, shape));
    Tensor& out = c.output(0);
    if (out.num_elements() == 0) return ok_status();
    fill_elements(*c.parallel_, out.dtype(), c.input(3).raw(), out.raw(), out.num_elements());
    int64_t inner = indices.num_elements() / outer;
    with_element(out.dtype(), [&]<class E>(E) {
      const E on = *static_cast<const E*>(c.input(2).raw());
      E* to = static_cast<E*>(out.raw());
      for (int64_t i = 0; i < indices.num_elements(); ++i) {
        int64_t k = class_at(indices, i);
        if (k >= 0 && k < depth) to[(i / inner * depth + k) * inner + i % inner] = on;
      }
    });
    return ok_status();
  }

 private:
  int64_t axis_;
};

}  // namespace

OpDef one_hot_op() {
  return OpDef("OneHot")
      .doc("A new axis of size depth: on_value at the index, off_value elsewhere.")
      .shape(one_hot_shape)
      .cpu(kMovable, make<OneHot>)
      .value_inputs({1})
      .not_differentiable();
}

}  // namespace emplace
