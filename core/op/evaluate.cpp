#include "core/op/evaluate.h"

#include "core/base/cat.h"
#include "core/op/known_shape_context.h"
#include "core/op/run_kernel.h"

namespace emplace {
namespace {

class BoundedHost final : public Allocator {
 public:
  explicit BoundedHost(int64_t max_elements) : max_elements_(max_elements) {}
  Result<Tensor> allocate(DType dtype, const Shape& shape) override {
    auto count = shape.checked_num_elements();
    if (!count || *count > max_elements_) {
      return resource_exhausted(
          cat("a constant of shape ", shape.to_string(), " is too large to be computed ahead of the run"));
    }
    return Tensor::allocate(dtype, shape);
  }

 private:
  int64_t max_elements_;
};

}  // namespace

Result<std::vector<Tensor>> evaluate(const OpDef& def, KernelMaker maker, const Evaluation& what) {
  KnownShapeContext shapes(what.inputs, what.attrs, what.output_types);
  if (def.shape_rule()) RETURN_IF_ERROR(def.shape_rule()(shapes));

  BoundedHost host(what.max_elements);
  std::vector<Tensor> outputs(what.output_types.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = shapes.outputs()[i];
    if (shape.fully_known() && !def.provides()) {
      ASSIGN_OR_RETURN(outputs[i], host.allocate(what.output_types[i], shape));
    } else {
      Shape open = shape.fully_known() ? shape : Shape{0};
      outputs[i] = Tensor::wrap(what.output_types[i], open, nullptr);  // run() gives it storage
    }
  }
  KernelInit init;
  init.node_name = what.node_name;
  init.op = def.name();
  init.attrs = what.attrs;
  init.input_types = what.input_types;
  init.output_types = what.output_types;
  ASSIGN_OR_RETURN(auto kernel, maker(init));

  Sequential sequential;
  std::vector<Tensor> inputs(what.inputs.begin(), what.inputs.end());
  KernelContext context;
  context.inputs_ = inputs;
  context.outputs_ = outputs;
  context.allocator_ = &host;
  context.parallel_ = &sequential;
  context.node_name_ = what.node_name;
  RETURN_IF_ERROR(kernel->prepare(context));
  RETURN_IF_ERROR(run_kernel(*kernel, context));
  return outputs;
}

}  // namespace emplace
