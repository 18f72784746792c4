// Placeholder and PlaceholderWithDefault: values from outside. A fed one is never run.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status placeholder_shape(ShapeContext& c) {
  c.set_output(0, c.attrs().shape("shape"));
  return ok_status();
}

// Before the run no more is known than the attr says: another shape may be fed.
Status placeholder_with_default_shape(ShapeContext& c) {
  RETURN_IF_ERROR(ShapeContext::merge(c.input(0), c.attrs().shape("shape")).take_status());
  c.set_output(0, c.attrs().shape("shape"));
  return ok_status();
}

class Placeholder final : public Kernel {
 public:
  explicit Placeholder(const KernelInit& init)
      : message_(cat("You must feed a value for placeholder tensor '", init.node_name, "' with dtype ",
                     dtype_tf_name(init.output_types[0]))) {
    const Shape& shape = init.attrs.shape("shape");
    if (shape.rank_known() && shape.rank() > 0) append(message_, " and shape ", shape.to_string());
  }
  Status run(KernelContext&) override { return invalid_argument(message_); }

 private:
  std::string message_;
};

Status placeholder_with_default_cpu(KernelContext& c) {
  c.forward_output(0, c.input(0));
  return ok_status();
}

}  // namespace

OpDef placeholder_op() {
  return OpDef("Placeholder")
      .doc("A value that must be fed.")
      .traits({.placeholder = true})
      .shape(placeholder_shape)
      .kernel_attr("dtype")
      .cpu(kMovable | DTypeSet{DType::kVariant}, make<Placeholder>)
      .provides_outputs();
}

OpDef placeholder_with_default_op() {
  return OpDef("PlaceholderWithDefault")
      .doc("Its input, unless another value is fed.")
      .traits({.placeholder_with_default = true})
      .shape(placeholder_with_default_shape)
      .kernel_attr("dtype")
      .cpu(kMovable, stateless<placeholder_with_default_cpu>)
      .provides_outputs()
      .gradient(identity_gradient);
}

}  // namespace emplace
