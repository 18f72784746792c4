// StridedSlice, and StridedSliceGrad, which puts a slice back into zeros.
#include "core/base/cat.h"
#include "core/base/scratch_vector.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/array/strided_slice_spec.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/moved_variants.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/kit/strided_copy.h"

namespace emplace {
namespace {

Status strided_slice_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape entries, c.with_rank(1, 1));
  for (int i : {2, 3}) {
    ASSIGN_OR_RETURN(Shape other, c.with_rank(i, 1));
    ASSIGN_OR_RETURN(entries, ShapeContext::merge(entries, other));
  }
  const Tensor* strides = c.input_value(3);
  if (!c.input(0).rank_known() || entries.dim(0) < 0 || strides == nullptr) return ok_status();
  ASSIGN_OR_RETURN(SliceSpec spec,
                   resolve_slice(c.input(0), c.input_value(1), c.input_value(2), *strides, SliceMasks::of(c.attrs())));
  c.set_output(0, spec.result);
  return ok_status();
}

// The copy between a slice (row-major) and its place in the whole.
StridedCopy copy_of(const Shape& whole, const SliceSpec& spec, bool into_whole) {
  ScratchVector<int64_t> outer = row_major_strides(whole), inner = row_major_strides(spec.processing);
  StridedCopy copy;
  int64_t offset = 0;
  for (size_t i = 0; i < spec.ranges.size(); ++i) {
    const auto& r = spec.ranges[i];
    offset += r.begin * outer[i];
    int64_t step = r.size > 1 ? r.stride * outer[i] : 0;
    into_whole ? copy.add(r.size, inner[i], step) : copy.add(r.size, step, inner[i]);
  }
  (into_whole ? copy.out_offset : copy.in_offset) = offset;
  return copy;
}

class StridedSlice final : public Kernel {
 public:
  explicit StridedSlice(const KernelInit& init) : masks_(SliceMasks::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    const Tensor& in = c.input(0);
    ASSIGN_OR_RETURN(SliceSpec spec, resolve_slice(in.shape(), &c.input(1), &c.input(2), c.input(3), masks_));
    RETURN_IF_ERROR(ensure_output(c, 0, spec.result));
    if (c.output(0).num_elements() == 0) return ok_status();
    copy_of(in.shape(), spec, false).run(*c.parallel_, in.dtype(), in.raw(), c.output(0).raw());
    return ok_status();
  }

 private:
  SliceMasks masks_;
};

Status strided_slice_grad_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape out, shape_from_input(c, 0));
  c.set_output(0, out);
  return ok_status();
}

class StridedSliceGrad final : public Kernel {
 public:
  explicit StridedSliceGrad(const KernelInit& init) : masks_(SliceMasks::of(init.attrs)) {}
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(Shape whole, shape_of_values(c.input(0)));
    ASSIGN_OR_RETURN(SliceSpec spec, resolve_slice(whole, &c.input(1), &c.input(2), c.input(3), masks_));
    const Tensor& dy = c.input(4);
    if (!(dy.shape() == spec.result)) {
      return invalid_argument(cat("shape of dy was ", dy.shape().to_string(), " instead of ", spec.result.to_string()));
    }
    RETURN_IF_ERROR(ensure_output(c, 0, whole));
    Tensor& out = c.output(0);
    fill_zeros(*c.parallel_, out);
    if (dy.num_elements() > 0) copy_of(whole, spec, true).run(*c.parallel_, dy.dtype(), dy.raw(), out.raw());
    return ok_status();
  }

 private:
  SliceMasks masks_;
};

Status strided_slice_gradient(GradientContext& g) {
  Value shape = g.shape_of(g.input(0), g.type(g.input(1)));
  g.set(0, g.add("StridedSliceGrad", {shape, g.input(1), g.input(2), g.input(3), g.grad(0)},
                 g.copy_attrs({"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})));
  return g.status();
}

Status strided_slice_grad_gradient(GradientContext& g) {
  g.set(4, g.add("StridedSlice", {g.grad(0), g.input(1), g.input(2), g.input(3)},
                 g.copy_attrs({"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})));
  return g.status();
}

}  // namespace

OpDef strided_slice_op() {
  return OpDef("StridedSlice")
      .doc("x[begin:end:stride, ...] with Python's meaning; the masks say ellipsis, new axes and single indices.")
      .traits({.partial_value = PartialValue::kSlice})
      .shape(strided_slice_shape)
      .cpu(kMovable, make<StridedSlice>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<make<StridedSlice>>)
      .value_inputs({1, 2, 3})
      .gradient(strided_slice_gradient);
}
OpDef strided_slice_grad_op() {
  return OpDef("StridedSliceGrad")
      .doc("Zeros of the given shape with dy where StridedSlice would have read.")
      .shape(strided_slice_grad_shape)
      .cpu(kMovable, make<StridedSliceGrad>)
      .cpu(DTypeSet{DType::kVariant}, moving_variants<make<StridedSliceGrad>>)
      .value_inputs({0, 1, 2, 3})
      .gradient(strided_slice_grad_gradient);
}

}  // namespace emplace
