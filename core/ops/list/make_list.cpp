// EmptyTensorList, TensorListReserve, TensorListFromTensor: new lists.
#include "core/base/cat.h"
#include "core/op/gradient_context.h"
#include "core/op/op_def.h"
#include "core/ops/list/elements.h"

namespace emplace {
namespace {

class MakeList : public Kernel {
 public:
  explicit MakeList(const KernelInit& init) : dtype_(init.attrs.type("element_dtype")) {}

 protected:
  const DType dtype_;
};

Result<int64_t> scalar_in(const KernelContext& c, int i, std::string_view name) {
  if (c.input(i).num_elements() == 1) return int_at(c.input(i), 0);
  return invalid_argument(cat(name, " must be a scalar, not of shape ", c.input(i).shape().to_string()));
}

class Empty final : public MakeList {
 public:
  using MakeList::MakeList;
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const int64_t most, scalar_in(c, 1, "max_num_elements"));
    ASSIGN_OR_RETURN(Shape shape, element_shape_in(c.input(0)));
    c.forward_output(0, list_tensor({dtype_, std::move(shape), most, {}}));
    return ok_status();
  }
};

class Reserve final : public MakeList {
 public:
  using MakeList::MakeList;
  Status run(KernelContext& c) override {
    ASSIGN_OR_RETURN(const int64_t size, scalar_in(c, 1, "num_elements"));
    ASSIGN_OR_RETURN(Shape shape, element_shape_in(c.input(0)));
    if (size < 0)
      return invalid_argument(cat("The num_elements to reserve must be a non negative number, but got ", size));
    RETURN_IF_ERROR(check_list_size(size));
    TensorList list{dtype_, std::move(shape), -1, {}};
    list.elements.resize(size);
    c.forward_output(0, list_tensor(std::move(list)));
    return ok_status();
  }
};

class FromTensor final : public MakeList {
 public:
  using MakeList::MakeList;
  Status run(KernelContext& c) override {
    const Tensor& tensor = c.input(0);
    if (tensor.shape().rank() < 1) return invalid_argument("Tensor must be at least a vector, but saw shape: []");
    ASSIGN_OR_RETURN(Shape shape, element_shape_in(c.input(1)));
    const Shape rows(tensor.shape().dims().subspan(1));
    if (!shape.compatible_with(rows)) {
      return invalid_argument(
          cat("Specified a list with shape ", shape.to_string(), " from a tensor with shape ", rows.to_string()));
    }
    TensorList list{dtype_, std::move(shape), -1, {}};
    RETURN_IF_ERROR(check_list_size(tensor.shape().dim(0)));
    for (int64_t i = 0; i < tensor.shape().dim(0); ++i) {
      ASSIGN_OR_RETURN(Tensor row, kept_row(c, tensor, i));
      list.elements.push_back(std::move(row));
    }
    c.forward_output(0, list_tensor(std::move(list)));
    return ok_status();
  }
};

Status from_tensor_gradient(GradientContext& g) {
  const AttrValue type = AttrValue::of(g.attrs().type("element_dtype"));
  g.set(0, g.add("TensorListStack", {g.grad(0), g.input(1)}, {{"element_dtype", type}}));
  return g.status();
}

}  // namespace

OpDef empty_tensor_list_op() {
  return OpDef("EmptyTensorList")
      .doc("A list without elements, of at most max_num_elements (-1: any number).")
      .traits(kListTraits)
      .shape(list_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, make<Empty>)
      .provides_outputs()
      .not_differentiable();
}
OpDef tensor_list_reserve_op() {
  return OpDef("TensorListReserve")
      .doc("A list of num_elements elements that are not set.")
      .traits(kListTraits)
      .shape(list_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, make<Reserve>)
      .provides_outputs()
      .not_differentiable();
}
OpDef tensor_list_from_tensor_op() {
  return OpDef("TensorListFromTensor")
      .doc("The rows of a tensor as a list.")
      .traits(list_traits(0b1))
      .shape(list_shape)
      .kernel_attr("element_dtype")
      .cpu(kListable, make<FromTensor>)
      .provides_outputs()
      .gradient(from_tensor_gradient);
}

}  // namespace emplace
