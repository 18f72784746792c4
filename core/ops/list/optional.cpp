// OptionalFromValue, OptionalNone, OptionalHasValue, OptionalGetValue: some tensors as one value, or nothing. Gradients
// of conditionals keep what only one branch has that way.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

// An optional is a list of no type: its tensors are of several. Nothing is one that can have no element.
constexpr DType kNoType = DType::kInvalid;

Tensor optional_tensor(ListElements elements) {
  const int64_t most = elements.size();
  return list_tensor({kNoType, Shape::unknown(), most, std::move(elements)});
}

Result<const TensorList*> optional_in(const KernelContext& c) {
  if (c.input(0).shape().rank() != 0) return invalid_argument("Input to OptionalHasValue must be a scalar tensor");
  ASSIGN_OR_RETURN(const TensorList* list, list_in(c.input(0)));
  if (list->dtype != kNoType) return invalid_argument("Input handle is not an optional. Saw: 'tensorflow::TensorList'");
  return list;
}

Status from_value_cpu(KernelContext& c) {
  ListElements elements;
  for (int i = 0; i < c.num_inputs(); ++i) elements.push_back(c.input(i));
  c.forward_output(0, optional_tensor(std::move(elements)));
  return ok_status();
}

Status none_cpu(KernelContext& c) {
  c.forward_output(0, optional_tensor({}));
  return ok_status();
}

Status has_value_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* optional, optional_in(c));
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{}));
  *c.out<bool>(0) = optional->size() > 0;
  return ok_status();
}

class GetValue final : public Kernel {
 public:
  explicit GetValue(const KernelInit& init) : shapes_(init.attrs.shapes("output_shapes")) {}

  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const TensorList* optional, optional_in(c));
    if (optional->size() == 0) return invalid_argument("The given optional does not have a value.");
    if (optional->size() != c.num_outputs()) {
      return invalid_argument(
          cat("The given optional has ", optional->size(), " components, expected ", c.num_outputs()));
    }
    for (int i = 0; i < c.num_outputs(); ++i) {
      const Tensor& value = optional->elements[i];
      if (value.dtype() != c.output(i).dtype()) {
        return invalid_argument(cat("The given optional does not match the expected type for component ", i,
                                    ". Expected: ", dtype_tf_name(c.output(i).dtype()),
                                    ". Actual: ", dtype_tf_name(value.dtype()), "."));
      }
      const Shape wanted = static_cast<size_t>(i) < shapes_.size() ? shapes_[static_cast<size_t>(i)] : Shape::unknown();
      if (!wanted.compatible_with(value.shape())) {
        return invalid_argument(cat("The given optional does not match the expected shape for component ", i,
                                    ". Expected: ", wanted.to_string(), ". Actual: ", value.shape().to_string(), "."));
      }
      c.forward_output(i, value);
    }
    return ok_status();
  }

 private:
  const std::vector<Shape> shapes_;
};

Status value_shapes(ShapeContext& c) {
  const std::vector<Shape> shapes = c.attrs().shapes("output_shapes");
  if (shapes.size() != static_cast<size_t>(c.num_outputs()))
    return invalid_argument("`output_shapes` must be the same length as `output_types`");
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<size_t>(i)]);
  return ok_status();
}

Status from_value_gradient(GradientContext& g) {
  const std::vector<DType>& types = g.attrs().types("Toutput_types");
  std::vector<Shape> open(types.size(), Shape::unknown());
  const Value parts = g.add("OptionalGetValue", {g.grad(0)},
                            {{"output_types", AttrValue::list_of(AttrKind::kType, types)},
                             {"output_shapes", AttrValue::list_of(AttrKind::kShape, std::move(open))}});
  for (int i = 0; i < g.num_inputs(); ++i) g.set(i, i == 0 ? parts : parts.output(i));
  return g.status();
}

Status get_value_gradient(GradientContext& g) {
  std::vector<Value> grads;
  for (size_t i = 0; i < g.attrs().types("output_types").size(); ++i) {
    const Value grad = g.grad(static_cast<int>(i));
    grads.push_back(grad.valid() ? grad : g.zeros_like(g.output(static_cast<int>(i))));
  }
  g.set(0, g.add("OptionalFromValue", grads));
  return g.status();
}

}  // namespace

OpDef optional_from_value_op() {
  return OpDef("OptionalFromValue")
      .doc("The tensors as one value, which may be there or not.")
      .traits({.element_attr = "Toutput_types"})
      .shape(list_shape)
      .cpu(stateless<from_value_cpu>)
      .provides_outputs()
      .gradient(from_value_gradient);
}
OpDef optional_none_op() {
  return OpDef("OptionalNone")
      .doc("Nothing, where an optional value is wanted.")
      .shape(list_shape)
      .cpu(stateless<none_cpu>)
      .provides_outputs()
      .not_differentiable();
}
OpDef optional_has_value_op() {
  return OpDef("OptionalHasValue")
      .doc("Is the optional value there?")
      .shape(shape_scalar)
      .cpu(stateless<has_value_cpu>)
      .not_differentiable();
}
OpDef optional_get_value_op() {
  return OpDef("OptionalGetValue")
      .doc("The tensors of an optional value, which must be there.")
      .shape(value_shapes)
      .cpu(make<GetValue>)
      .provides_outputs()
      .gradient(get_value_gradient);
}

}  // namespace emplace
