// StridedSliceAssign, ResourceStridedSliceAssign: a slice of a variable gets a value, which is broadcast to its shape.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/array/strided_slice_spec.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/strided_copy.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

constexpr DTypeSet kSliceTypes = kAllData | DTypeSet{DType::kQInt8,    DType::kQUInt8,     DType::kQInt32,
                                                     DType::kResource, DType::kFloat8E5M2, DType::kFloat8E4M3FN};

Status reference_slice_shape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ok_status();
}

/// May a value of shape `from` stand for all of a slice of shape `to`? It may have more dimensions, of size 1.
bool broadcasts(const Shape& from, const Shape& to) {
  const int more = from.rank() - to.rank();
  for (int d = 0; d < from.rank(); ++d) {
    const int64_t size = from.dim(d), wanted = d < more ? 1 : to.dim(d - more);
    if (size != 1 && size != wanted) return false;
  }
  return true;
}

/// Copies `value` to the slice, whose shape is `to`: for each of its dimensions, how far apart its elements are in
/// `out`.
class SliceWriter {
 public:
  SliceWriter(const Shape& whole, const SliceSpec& spec) {
    const ScratchVector<int64_t> strides = row_major_strides(whole);
    for (size_t i = 0; i < spec.ranges.size(); ++i) {
      const SliceSpec::Range& r = spec.ranges[i];
      offset_ += r.begin * strides[i];
      steps_.push_back(r.size > 1 ? r.stride * strides[i] : 0);
    }
  }

  /// `dense`: the value, of the shape that spec.processing is.
  void write(Parallel& parallel, const SliceSpec& spec, const Tensor& dense, Tensor& out) const {
    const ScratchVector<int64_t> from = row_major_strides(spec.processing);
    StridedCopy copy;
    for (size_t i = 0; i < spec.ranges.size(); ++i) copy.add(spec.ranges[i].size, from[i], steps_[i]);
    copy.out_offset = offset_;
    copy.run(parallel, out.dtype(), dense.raw(), out.raw());
  }

 private:
  ScratchVector<int64_t> steps_;
  int64_t offset_ = 0;
};

/// The value with all elements of a slice of shape `to`.
Result<Tensor> spread(KernelContext& c, const Tensor& value, const Shape& to) {
  if (value.num_elements() == to.num_elements()) return value;
  ASSIGN_OR_RETURN(Tensor out, c.allocate_scratch(value.dtype(), to));
  const ScratchVector<int64_t> from = row_major_strides(value.shape()), strides = row_major_strides(to);
  const int more = value.shape().rank() - to.rank();
  StridedCopy copy;
  for (int d = 0; d < to.rank(); ++d) {
    const int at = d + more;
    const bool moves = at >= 0 && value.shape().dim(at) > 1;
    copy.add(to.dim(d), moves ? from[static_cast<size_t>(at)] : 0, strides[static_cast<size_t>(d)]);
  }
  copy.run(*c.parallel_, value.dtype(), value.raw(), out.raw());
  return out;
}

class SliceAssign final : public Kernel {
 public:
  explicit SliceAssign(const KernelInit& init) : masks_(SliceMasks::of(init.attrs)) {}

  Status run(KernelContext& c) override {
    Variable& v = c.variable(0);
    const Tensor& value = c.input(4);
    std::lock_guard lock(v.mutex);
    if (!v.value.valid()) return is_ref(c.input(0).dtype()) ? uninitialized(v) : no_such_variable(v);
    if (v.dtype != value.dtype()) return wrong_type(v, "assign", value.dtype());
    const Shape whole = v.value.shape();
    ASSIGN_OR_RETURN(const SliceSpec spec, resolve_slice(whole, &c.input(1), &c.input(2), c.input(3), masks_));
    if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
    if (spec.processing.num_elements() == 0) return ok_status();
    if (!broadcasts(value.shape(), spec.result)) {
      return invalid_argument(cat("Cannot broadcast input shape ", value.shape().to_string(), " into final shape ",
                                  spec.result.to_string()));
    }
    ASSIGN_OR_RETURN(const Tensor dense, spread(c, value, spec.result));
    RETURN_IF_ERROR(own_value(c, v));
    SliceWriter(whole, spec).write(*c.parallel_, spec, dense, v.value);
    return ok_status();
  }

 private:
  SliceMasks masks_;
};

}  // namespace

OpDef strided_slice_assign_op() {
  return OpDef("StridedSliceAssign")
      .doc("ref[begin:end:stride, ...] = value, which is broadcast; gives ref.")
      .traits({.writes_variable = true})
      .shape(reference_slice_shape)
      .cpu(kSliceTypes, make<SliceAssign>)
      .value_inputs({1, 2, 3})
      .provides_outputs();
}
OpDef resource_strided_slice_assign_op() {
  return OpDef("ResourceStridedSliceAssign")
      .doc("variable[begin:end:stride, ...] = value, which is broadcast.")
      .traits({.writes_variable = true})
      .shape(shape_none)
      .kernel_attr("T")
      .cpu(kSliceTypes, make<SliceAssign>)
      .value_inputs({1, 2, 3});
}

}  // namespace emplace
