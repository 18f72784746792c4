// TensorListStack, Gather, ConcatV2: elements as one tensor.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

/// Of elements that are not set nothing is known but that their elements hold nothing.
Status stack_variants(KernelContext& c, const TensorList& list, std::span<const int64_t> indices, const Shape& whole) {
  const auto all = whole.checked_num_elements();
  if (!all) return invalid_argument(cat("shape ", whole.to_string(), " has too many elements"));
  RETURN_IF_ERROR(check_list_size(*all));
  ListElements elements;
  for (const int64_t i : indices)
    append_variants(elements, list.elements[i], *all / static_cast<int64_t>(indices.size()));
  c.forward_output(0, variants_tensor(whole, std::move(elements)));
  return ok_status();
}

/// The elements `indices`, one after the other, as rows of output 0. `shape`: what is asked of each.
Status stack_elements(KernelContext& c, const TensorList& list, std::span<const int64_t> indices, const Shape& asked) {
  ASSIGN_OR_RETURN(const Shape element, merged_element_shape(list, asked));
  if (!element.rank_known() || !element.fully_known()) {
    return invalid_argument(
        cat("Tried to stack list which only contains uninitialized tensors and has a "
            "non-fully-defined element shape: ",
            element.to_string()));
  }
  for (const int64_t i : indices) {
    const Tensor& from = list.elements[i];
    if (from.valid() && !(from.shape() == element))
      return invalid_argument(cat("Tried to stack elements of a list with different shapes: ", from.shape().to_string(),
                                  " and ", element.to_string()));
  }
  Shape whole{static_cast<int64_t>(indices.size())};
  for (const int64_t d : element.dims()) whole.add_dim(d);
  if (list.dtype == DType::kVariant) return stack_variants(c, list, indices, whole);
  RETURN_IF_ERROR(c.allocate_output(0, whole));
  Tensor& out = c.output(0);
  const int64_t row = element.num_elements();
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor& from = list.elements[indices[i]];
    Tensor to = row_of(out, static_cast<int64_t>(i));
    if (!from.valid()) {
      fill_zeros(*c.parallel_, to);
    } else {
      copy_elements(*c.parallel_, list.dtype, from.raw(), to.raw(), row);
    }
  }
  return ok_status();
}

class Stack final : public Kernel {
 public:
  explicit Stack(const KernelInit& init) {
    const AttrValue* number = init.attrs.find("num_elements");
    if (number) wanted_ = number->get<int64_t>();
  }
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const TensorList* list, list_in(c.input(0)));
    RETURN_IF_ERROR(check_list_dtype(*list, c.output(0).dtype()));
    if (wanted_ != -1 && wanted_ != list->size()) {
      return invalid_argument(cat("Operation expected a list with ", wanted_, " elements but got a list with ",
                                  list->size(), " elements."));
    }
    ASSIGN_OR_RETURN(const Shape asked, element_shape_in(c.input(1)));
    std::vector<int64_t> all(static_cast<size_t>(list->size()));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    return stack_elements(c, *list, all, asked);
  }

 private:
  int64_t wanted_ = -1;
};

Status gather_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* list, list_in(c.input(0)));
  RETURN_IF_ERROR(check_list_dtype(*list, c.output(0).dtype()));
  ASSIGN_OR_RETURN(const Shape asked, element_shape_in(c.input(2)));
  const std::vector<int64_t> indices = ints_of(c.input(1));
  for (const int64_t i : indices) {
    if (i < 0 || i >= list->size())
      return invalid_argument(cat("Index ", i, " out o range; list only has ", list->size(), " elements."));
  }
  return stack_elements(c, *list, indices, asked);
}

Status concat_variants(KernelContext& c, const TensorList& list, const std::vector<int64_t>& lengths,
                       const Shape& whole) {
  const auto all = whole.checked_num_elements();
  if (!all) return invalid_argument(cat("shape ", whole.to_string(), " has too many elements"));
  RETURN_IF_ERROR(check_list_size(*all));
  const int64_t row = whole.dim(0) == 0 ? 0 : *all / whole.dim(0);
  ListElements elements;
  for (size_t i = 0; i < lengths.size(); ++i)
    append_variants(elements, list.elements[static_cast<int64_t>(i)], lengths[i] * row);
  c.forward_output(0, variants_tensor(whole, std::move(elements)));
  return ok_status();
}

// Elements that are not set have the leading dimension that leading_dims says, and the shape of the others.
Status concat_cpu(KernelContext& c) {
  ASSIGN_OR_RETURN(const TensorList* list, list_in(c.input(0)));
  RETURN_IF_ERROR(check_list_dtype(*list, c.output(0).dtype()));
  ASSIGN_OR_RETURN(const Shape asked, element_shape_in(c.input(1)));
  const std::vector<int64_t> leading = c.num_inputs() > 2 ? ints_of(c.input(2)) : std::vector<int64_t>();
  Shape rest = Shape::unknown();
  const auto add = [&](const Shape& shape) -> Status {
    if (!shape.rank_known()) return ok_status();
    if (shape.rank() < 1) return invalid_argument("Concat requires elements to be at least vectors, found scalars.");
    ASSIGN_OR_RETURN(rest, ShapeContext::merge(rest, Shape(shape.dims().subspan(1))));
    return ok_status();
  };
  RETURN_IF_ERROR(add(asked));
  RETURN_IF_ERROR(add(list->element_shape));
  for (int64_t i = list->elements.first(); i < list->elements.last(); ++i) {
    if (list->elements[i].valid()) RETURN_IF_ERROR(add(list->elements[i].shape()));
  }
  if (!rest.rank_known() || !rest.fully_known()) {
    return invalid_argument(
        cat("All except the first dimension must be fully defined when concating an empty tensor "
            "list. element_shape: ",
            asked.to_string()));
  }
  std::vector<int64_t> lengths;
  int64_t rows = 0;
  const Shape stated = asked.rank_known() ? asked : list->element_shape;
  const int64_t usual = stated.rank_known() && stated.rank() > 0 ? stated.dim(0) : -1;
  for (int64_t i = 0; i < list->size(); ++i) {
    const Tensor& element = list->elements[i];
    const auto at = static_cast<size_t>(i);
    const int64_t length = element.valid() ? element.shape().dim(0) : at < leading.size() ? leading[at] : usual;
    if (length < 0)
      return invalid_argument(
          cat("Concating lists with uninitialized tensors is not supported in this "
              "version of TensorListConcat. Consider updating your GraphDef to "
              "run the newer version."));
    lengths.push_back(length);
    rows += length;
  }
  Shape whole{rows};
  for (const int64_t d : rest.dims()) whole.add_dim(d);
  RETURN_IF_ERROR(c.allocate_output(1, Shape{static_cast<int64_t>(lengths.size())}));
  std::copy(lengths.begin(), lengths.end(), c.out<int64_t>(1));
  if (list->dtype == DType::kVariant) return concat_variants(c, *list, lengths, whole);
  RETURN_IF_ERROR(c.allocate_output(0, whole));
  int64_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    Tensor to = rows_of(c.output(0), at, lengths[i]);
    const Tensor& from = list->elements[static_cast<int64_t>(i)];
    if (from.valid()) {
      copy_elements(*c.parallel_, list->dtype, from.raw(), to.raw(), from.num_elements());
    } else {
      fill_zeros(*c.parallel_, to);
    }
    at += lengths[i];
  }
  return ok_status();
}

Shape rows_of_shape(const Shape& element, int64_t rows) {
  if (!element.rank_known()) return Shape::unknown();
  Shape whole{rows};
  for (const int64_t d : element.dims()) whole.add_dim(d);
  return whole;
}

Status stack_shape(ShapeContext& c) {
  const AttrValue* number = c.attrs().find("num_elements");
  c.set_output(0, rows_of_shape(known_element_shape(c, 1), number ? number->get<int64_t>() : -1));
  return ok_status();
}

Status gather_shape(ShapeContext& c) {
  const Shape& indices = c.input(1);
  const bool known = indices.rank_known() && indices.rank() == 1;
  c.set_output(0, rows_of_shape(known_element_shape(c, 2), known ? indices.dim(0) : -1));
  return ok_status();
}

Status concat_shape(ShapeContext& c) {
  Shape whole = known_element_shape(c, 1);
  if (whole.rank_known() && whole.rank() > 0) whole.dim(0) = -1;
  c.set_output(0, whole);
  c.set_output(1, Shape::unknown_dims(1));
  return ok_status();
}

Value shape_of_elements(GradientContext& g) {
  return g.add("TensorListElementShape", {g.input(0)}, {{"shape_type", AttrValue::of(DType::kInt32)}});
}

Status stack_gradient(GradientContext& g) {
  g.set(0, g.add("TensorListFromTensor", {g.grad(0), shape_of_elements(g)}));
  return g.status();
}

Status gather_gradient(GradientContext& g) {
  const Value length = g.add("TensorListLength", {g.input(0)});
  g.set(0, g.add("TensorListScatterV2", {g.grad(0), g.input(1), shape_of_elements(g), length}));
  return g.status();
}

Status concat_gradient(GradientContext& g) {
  g.set(0, g.add("TensorListSplit", {g.grad(0), shape_of_elements(g), g.output(1)}));
  return g.status();
}

OpDef concatenating(std::string_view name) {
  return OpDef(name)
      .doc("The elements one after the other along dimension 0, and how many rows each has.")
      .traits(kListTraits)
      .shape(concat_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, stateless<concat_cpu>)
      .provides_outputs()
      .gradient(concat_gradient);
}

}  // namespace

OpDef tensor_list_stack_op() {
  return OpDef("TensorListStack")
      .doc("The elements as rows of a tensor.")
      .traits(kListTraits)
      .shape(stack_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, make<Stack>)
      .provides_outputs()
      .gradient(stack_gradient);
}
OpDef tensor_list_gather_op() {
  return OpDef("TensorListGather")
      .doc("The elements at indices as rows of a tensor.")
      .traits(kListTraits)
      .shape(gather_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, stateless<gather_cpu>)
      .provides_outputs()
      .gradient(gather_gradient);
}
OpDef tensor_list_concat_v2_op() { return concatenating("TensorListConcatV2"); }

}  // namespace emplace
