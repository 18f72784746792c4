// EnsureShape: its input, whose shape must fit what the graph says.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"

namespace emplace {
namespace {

Status ensured_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const Shape shape, ShapeContext::merge(c.input(0), c.attrs().shape("shape")));
  c.set_output(0, shape);
  if (const HandleInfo* handle = c.input_handle(0)) c.set_output_handle(0, *handle);
  return ok_status();
}

class EnsureShape final : public Kernel {
 public:
  explicit EnsureShape(const KernelInit& init) : expected_(init.attrs.shape("shape")) {}
  Status run(KernelContext& c) override {
    const Shape& shape = c.input(0).shape();
    if (!shape.compatible_with(expected_))
      return invalid_argument(cat("Shape of the tensor ", shape.to_string(), " is not compatible with expected shape ",
                                  expected_.to_string(), "."));
    c.forward_output(0, c.input(0));
    return ok_status();
  }

 private:
  Shape expected_;
};

}  // namespace

OpDef ensure_shape_op() {
  constexpr DTypeSet kAny = kMovable | DTypeSet{DType::kVariant};
  return OpDef("EnsureShape")
      .doc("Its input; an error if that has not the shape that the attr says, where it says one.")
      .shape(ensured_shape)
      .cpu(kAny, make<EnsureShape>)
      .provides_outputs()
      .gradient(identity_gradient);
}

}  // namespace emplace
