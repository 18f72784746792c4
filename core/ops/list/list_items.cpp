// TensorListGetItem, SetItem, PushBack, PopBack: single elements.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

Status get_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* list, list_in(c.input(0)));
  RETURN_IF_ERROR(check_list_dtype(*list, c.output(0).dtype()));
  const int64_t index = int_at(c.input(1), 0);
  if (index < 0 || index >= list->size())
    return invalid_argument(cat("Trying to access element ", index, " in a list with ", list->size(), " elements."));
  ASSIGN_OR_RETURN(const Shape asked, element_shape_in(c.input(2)));
  ASSIGN_OR_RETURN(Tensor item, element_or_zeros(c, *list, index, asked));
  c.forward_output(0, std::move(item));
  return ok_status();
}

class SetItem final : public Kernel {
 public:
  explicit SetItem(const KernelInit& init) {
    const AttrValue* resize = init.attrs.find("resize_if_index_out_of_bounds");
    resize_ = resize && resize->get<bool>();
  }
  Status run(KernelContext& c) override {
    const Tensor item = c.input(2);
    const int64_t index = int_at(c.input(1), 0);
    ASSIGN_OR_RETURN(const TensorList* before, list_in(c.input(0)));
    RETURN_IF_ERROR(check_list_dtype(*before, item.dtype()));
    if (index < 0 || (index >= before->size() && !resize_))
      return invalid_argument(
          cat("Trying to modify element ", index, " in a list with ", before->size(), " elements."));
    RETURN_IF_ERROR(check_item(*before, item.shape()));
    RETURN_IF_ERROR(check_list_size(index + 1));
    ASSIGN_OR_RETURN(TensorList * list, changed_list(c, 0, 0));
    if (index >= list->size()) list->elements.resize(index + 1);
    list->elements.at(index) = item;
    return ok_status();
  }

 private:
  bool resize_ = false;
};

Status push_back_cpu(KernelContext& c) {
  const Tensor item = c.input(1);
  ASSIGN_OR_RETURN(const TensorList* before, list_in(c.input(0)));
  RETURN_IF_ERROR(check_list_dtype(*before, item.dtype()));
  if (!before->element_shape.compatible_with(item.shape())) {
    return invalid_argument(cat("Tried to append a tensor with incompatible shape to a list. Op element shape: ",
                                item.shape().to_string(), " list shape: ", before->element_shape.to_string()));
  }
  if (before->max_num_elements != -1 && before->size() >= before->max_num_elements) {
    return invalid_argument(cat("Tried to push item into a full list list size: ", before->size(),
                                " max_num_elements: ", before->max_num_elements));
  }
  ASSIGN_OR_RETURN(TensorList * list, changed_list(c, 0, 0));
  list->elements.push_back(item);
  return ok_status();
}

Status pop_back_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* before, list_in(c.input(0)));
  RETURN_IF_ERROR(check_list_dtype(*before, c.output(1).dtype()));
  if (before->elements.empty()) return invalid_argument("Trying to pop from an empty list.");
  ASSIGN_OR_RETURN(const Shape asked, element_shape_in(c.input(1)));
  ASSIGN_OR_RETURN(Tensor item, element_or_zeros(c, *before, before->size() - 1, asked));
  ASSIGN_OR_RETURN(TensorList * list, changed_list(c, 0, 0));
  list->elements.pop_back();
  c.forward_output(1, std::move(item));
  return ok_status();
}

Status get_shape(ShapeContext& c) {
  c.set_output(0, known_element_shape(c, 2));
  return ok_status();
}

Status pop_shape(ShapeContext& c) {
  c.set_output(0, Shape{});
  c.set_output(1, known_element_shape(c, 1));
  return ok_status();
}

GradientContext::AttrList element_type(const GradientContext& g) { return g.copy_attrs({"element_dtype"}); }

Value element_shape_of(GradientContext& g, Value list) {
  return g.add("TensorListElementShape", {list}, {{"shape_type", AttrValue::of(DType::kInt32)}});
}

Status get_gradient(GradientContext& g) {
  const Value length = g.add("TensorListLength", {g.input(0)});
  const Value zeros = g.add("TensorListReserve", {element_shape_of(g, g.input(0)), length}, element_type(g));
  g.set(0, g.add("TensorListSetItem", {zeros, g.input(1), g.grad(0)}));
  return g.status();
}

Status set_gradient(GradientContext& g) {
  const Value shape = g.shape_of(g.input(2));
  const Value item = g.add("TensorListGetItem", {g.grad(0), g.input(1), shape}, element_type(g));
  g.set(0, g.add("TensorListSetItem", {g.grad(0), g.input(1), g.zeros_like(g.input(2))}));
  g.set(2, item);
  return g.status();
}

Status push_gradient(GradientContext& g) {
  const Value popped = g.add("TensorListPopBack", {g.grad(0), g.shape_of(g.input(1))}, element_type(g));
  g.set(0, popped);
  g.set(1, popped.output(1));
  return g.status();
}

Status pop_gradient(GradientContext& g) {
  Value list = g.grad(0);
  if (!list.valid()) {
    const Value length = g.add("TensorListLength", {g.output(0)});
    list = g.add("TensorListReserve", {element_shape_of(g, g.input(0)), length}, element_type(g));
  }
  g.set(0, g.add("TensorListPushBack", {list, g.grad(1)}));
  return g.status();
}

}  // namespace

OpDef tensor_list_get_item_op() {
  return OpDef("TensorListGetItem")
      .doc("The element at index; zeros if it is not set and its shape is known.")
      .traits(kListTraits)
      .shape(get_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, stateless<get_cpu>)
      .provides_outputs()
      .gradient(get_gradient);
}
OpDef tensor_list_set_item_op() {
  return OpDef("TensorListSetItem")
      .doc("The list with item at index.")
      .traits(list_traits(0b101))
      .shape(list_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, make<SetItem>)
      .provides_outputs()
      .gradient(set_gradient);
}
OpDef tensor_list_push_back_op() {
  return OpDef("TensorListPushBack")
      .doc("The list with one more element at its end.")
      .traits(kListTraits)
      .shape(list_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, stateless<push_back_cpu>)
      .provides_outputs()
      .gradient(push_gradient);
}
OpDef tensor_list_pop_back_op() {
  return OpDef("TensorListPopBack")
      .doc("The list without its last element, and that element.")
      .traits(kListTraits)
      .shape(pop_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, stateless<pop_back_cpu>)
      .provides_outputs()
      .gradient(pop_gradient);
}

}  // namespace emplace
