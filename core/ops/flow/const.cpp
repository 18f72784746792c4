// Const: the tensor of its attr, copied into the device's memory once.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status const_shape(ShapeContext& c) {
  const Tensor& value = c.attrs().tensor("value");
  if (value.dtype() != c.output_type(0)) {
    return invalid_argument(cat("Type mismatch between value (", dtype_tf_name(value.dtype()), ") and dtype (",
                                dtype_tf_name(c.output_type(0)), ")"));
  }
  c.set_output(0, value.shape());
  return ok_status();
}

class Const final : public Kernel {
 public:
  explicit Const(const KernelInit& init) : value_(init.attrs.tensor("value")) {}

  Status run(KernelContext& c) override {
    if (!placed_.valid()) {
      const bool on_host = (c.host_outputs_ & 1) != 0;
      Allocator& memory = on_host ? *c.host_allocator_ : *c.allocator_;
      ASSIGN_OR_RETURN(placed_, memory.allocate_persistent(value_.dtype(), value_.shape()));
      copy_elements(value_.dtype(), value_.raw(), placed_.raw(), value_.num_elements());
    }
    c.forward_output(0, placed_);
    return ok_status();
  }

 private:
  Tensor value_, placed_;
};

}  // namespace

OpDef const_op() {
  return OpDef("Const")
      .doc("The value of its attr.")
      .traits({.constant = true})
      .shape(const_shape)
      .kernel_attr("dtype")
      .cpu(kMovable, make<Const>)
      .provides_outputs()
      .not_differentiable();
}

}  // namespace emplace
