// TensorListScatter, ScatterV2, ScatterIntoExistingList, Split, ConcatLists, PushBackBatch: lists from parts of tensors
// and lists.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

Status check_scatter(const Tensor& tensor, const std::vector<int64_t>& indices) {
  if (tensor.shape().rank() < 1)
    return invalid_argument(cat("Tensor must be at least a vector, but saw shape: ", tensor.shape().to_string()));
  if (tensor.shape().dim(0) != static_cast<int64_t>(indices.size())) {
    return invalid_argument(
        cat("Invalid number of rows in input tensor. Expected: ", indices.size(), " Actual: ", tensor.shape().dim(0)));
  }
  for (const int64_t i : indices) {
    if (i < 0) return invalid_argument(cat("Indices in TensorListScatter must all be non-negative, found ", i));
    RETURN_IF_ERROR(check_list_size(i + 1));
  }
  return ok_status();
}

Status scatter_rows_into(KernelContext& c, TensorList& list, const Tensor& tensor,
                         const std::vector<int64_t>& indices) {
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t at = indices[i];
    if (at >= list.size()) list.elements.resize(at + 1);
    ASSIGN_OR_RETURN(list.elements.at(at), kept_row(c, tensor, static_cast<int64_t>(i)));
  }
  return ok_status();
}

Status scatter_cpu(KernelContext& c) {
  const Tensor& tensor = c.input(0);
  const std::vector<int64_t> indices = ints_of(c.input(1));
  RETURN_IF_ERROR(check_scatter(tensor, indices));
  ASSIGN_OR_RETURN(Shape shape, element_shape_in(c.input(2)));
  TensorList list{tensor.dtype(), std::move(shape), -1, {}};
  const int64_t size = c.num_inputs() > 3 ? int_at(c.input(3), 0) : -1;
  if (size < -1) return invalid_argument(cat("TensorListScatter expects num_elements >= -1, found: ", size));
  for (const int64_t i : indices) {
    if (size != -1 && i >= size) {
      return invalid_argument(cat("TensorListScatter: Trying to scatter at index ", i, " in list with size ", size));
    }
  }
  RETURN_IF_ERROR(check_item(list, Shape(tensor.shape().dims().subspan(1))));
  RETURN_IF_ERROR(check_list_size(size));
  if (size > 0) list.elements.resize(size);
  RETURN_IF_ERROR(scatter_rows_into(c, list, tensor, indices));
  c.forward_output(0, list_tensor(std::move(list)));
  return ok_status();
}

Status scatter_existing_cpu(KernelContext& c) {
  const Tensor tensor = c.input(1);
  const std::vector<int64_t> indices = ints_of(c.input(2));
  RETURN_IF_ERROR(check_scatter(tensor, indices));
  ASSIGN_OR_RETURN(const TensorList* before, list_in(c.input(0)));
  RETURN_IF_ERROR(check_list_dtype(*before, tensor.dtype()));
  RETURN_IF_ERROR(check_item(*before, Shape(tensor.shape().dims().subspan(1))));
  ASSIGN_OR_RETURN(TensorList * list, changed_list(c, 0, 0));
  return scatter_rows_into(c, *list, tensor, indices);
}

Status split_cpu(KernelContext& c) {
  const Tensor& tensor = c.input(0);
  const std::vector<int64_t> lengths = ints_of(c.input(2));
  if (tensor.shape().rank() < 1)
    return invalid_argument(cat("Tensor must be at least a vector, but saw shape: ", tensor.shape().to_string()));
  ASSIGN_OR_RETURN(Shape shape, element_shape_in(c.input(1)));
  TensorList list{tensor.dtype(), std::move(shape), -1, {}};
  int64_t at = 0;
  for (const int64_t length : lengths) {
    if (length < 0) return invalid_argument(cat("Invalid value in lengths: ", length));
    if (length > tensor.shape().dim(0) - at) {
      return invalid_argument(
          cat("Attempting to slice [", at, ", ", at + length, "] from tensor with length ", tensor.shape().dim(0)));
    }
    ASSIGN_OR_RETURN(Tensor rows, kept_rows(c, tensor, at, length));
    RETURN_IF_ERROR(check_item(list, rows.shape()));
    list.elements.push_back(std::move(rows));
    at += length;
  }
  if (at != tensor.shape().dim(0)) {
    return invalid_argument(
        cat("Unused values in tensor. Length of tensor: ", tensor.shape().dim(0), " Values used: ", at));
  }
  c.forward_output(0, list_tensor(std::move(list)));
  return ok_status();
}

Status concat_lists_cpu(KernelContext& c) {
  const Tensor other = c.input(1);
  ASSIGN_OR_RETURN(const TensorList* second, list_in(other));
  ASSIGN_OR_RETURN(const TensorList* first, list_in(c.input(0)));
  RETURN_IF_ERROR(check_list_dtype(*second, first->dtype));
  RETURN_IF_ERROR(check_list_size(first->size() + second->size()));
  ASSIGN_OR_RETURN(Shape shape, ShapeContext::merge(first->element_shape, second->element_shape));
  ASSIGN_OR_RETURN(TensorList * list, changed_list(c, 0, 0));
  list->element_shape = std::move(shape);
  const ListElements more = second->elements;  // the two may be one
  const int64_t begin = list->size();
  list->elements.resize(begin + more.size());
  for (int64_t i = more.first(); i < more.last(); ++i) list->elements.at(begin + i) = more[i];
  return ok_status();
}

Status scatter_gradient(GradientContext& g) {
  const Value shape = g.slice(g.shape_of(g.input(0)), 1);
  g.set(0, g.add("TensorListGather", {g.grad(0), g.input(1), shape}, g.copy_attrs({"element_dtype"})));
  return g.status();
}

Status scatter_existing_gradient(GradientContext& g) {
  const Value shape = g.slice(g.shape_of(g.input(1)), 1);
  g.set(1, g.add("TensorListGather", {g.grad(0), g.input(2), shape}, g.copy_attrs({"element_dtype"})));
  g.set(0, g.add("TensorListScatterIntoExistingList", {g.grad(0), g.zeros_like(g.input(1)), g.input(2)}));
  return g.status();
}

Status split_gradient(GradientContext& g) {
  Value joined = g.add("TensorListConcatV2", {g.grad(0), g.input(1), g.input(2)}, g.copy_attrs({"element_dtype"}));
  g.set(0, joined);
  return g.status();
}

OpDef list_making(std::string_view name, std::string_view doc, KernelMaker maker, GradientFunction gradient) {
  return OpDef(name)
      .doc(doc)
      .traits(kListTraits)
      .shape(list_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, maker)
      .provides_outputs()
      .gradient(gradient);
}

// Both halves, by their lengths.
Status concat_lists_gradient(GradientContext& g) {
  const auto type = g.copy_attrs({"element_dtype"});
  const Value first = g.add("TensorListLength", {g.input(0)}), second = g.add("TensorListLength", {g.input(1)});
  const Value shape = g.add("TensorListElementShape", {g.input(0)}, {{"shape_type", AttrValue::of(DType::kInt32)}});
  g.set(0, g.add("TensorListResize", {g.grad(0), first}));
  const Value end = g.add("AddV2", {first, second}, {}, "add");
  const Value indices = g.range(first, end, g.index(1));
  const Value rows = g.add("TensorListGather", {g.grad(0), indices, shape}, type);
  g.set(1, g.add("TensorListFromTensor", {rows, shape}));
  return g.status();
}

}  // namespace

OpDef tensor_list_scatter_op() {
  return list_making("TensorListScatter", "A list whose element at indices[i] is row i.", stateless<scatter_cpu>,
                     scatter_gradient);
}
OpDef tensor_list_scatter_v2_op() {
  return list_making("TensorListScatterV2",
                     "A list of num_elements (-1: as many as needed) whose element at indices[i] is row i.",
                     stateless<scatter_cpu>, scatter_gradient);
}
OpDef tensor_list_scatter_into_existing_list_op() {
  return list_making("TensorListScatterIntoExistingList", "The list with row i as its element at indices[i].",
                     stateless<scatter_existing_cpu>, scatter_existing_gradient);
}
OpDef tensor_list_split_op() {
  return list_making("TensorListSplit", "A list of lengths[i] rows each.", stateless<split_cpu>, split_gradient);
}
OpDef tensor_list_concat_lists_op() {
  return list_making("TensorListConcatLists", "The elements of both lists, one list behind the other.",
                     stateless<concat_lists_cpu>, concat_lists_gradient);
}

}  // namespace emplace
