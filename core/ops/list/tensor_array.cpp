#include "core/ops/list/tensor_array.h"

#include "core/ops/list/elements.h"

namespace emplace {

Status TensorArray::failure(std::string_view what) const {
  return invalid_argument(cat("TensorArray ", name, ": ", what));
}

Status TensorArray::resize(int64_t size) {
  RETURN_IF_ERROR(check_list_size(size));
  items_.resize(static_cast<size_t>(size));
  return ok_status();
}

Status TensorArray::check(DType type) const {
  if (closed) return invalid_argument(cat("TensorArray ", name, " has already been closed."));
  if (type == element_type) return ok_status();
  return invalid_argument(
      cat("TensorArray dtype is ", dtype_tf_name(element_type), " but Op requested dtype ", dtype_tf_name(type), "."));
}

Status TensorArray::write(KernelContext& c, ElementSum& sum, int64_t index, Tensor element) {
  if (index < 0 || (!dynamic_size && index >= size())) {
    return failure(cat("Tried to write to index ", index, " but array is not resizeable and size is: ", size()));
  }
  if (index >= size()) RETURN_IF_ERROR(resize(index + 1));
  Item& item = items_[static_cast<size_t>(index)];
  const auto refused = [&](auto... why) {
    return failure(cat("Could not write to TensorArray index ", index, " because ", why...));
  };
  if (!element_shape.compatible_with(element.shape())) {
    return refused("the value shape is ", element.shape().to_string(),
                   " which is incompatible with the TensorArray's inferred element shape: ", element_shape.to_string(),
                   " (consider setting infer_shape=False).");
  }
  if (item.read) return refused("it has already been read.");
  if (item.written && !is_gradient) return refused("it has already been written to.");
  if (item.written && !(item.shape == element.shape())) {
    return failure(cat("Could not aggregate to TensorArray index ", index, " because the existing shape is ",
                       item.shape.to_string(), " but the new input shape is ", element.shape().to_string(), "."));
  }
  item.shape = element.shape();
  item.written = true;
  return sum.add(c, element_type, item.value, element);
}

Result<Tensor> TensorArray::read(KernelContext& c, int64_t index) {
  if (index < 0 || (index >= size() && !is_gradient))
    return invalid_argument(cat("Tried to read from index ", index, " but array size is: ", size()));
  Item* item = index < size() ? &items_[static_cast<size_t>(index)] : nullptr;
  if (is_gradient && (!item || !item->written)) {
    const Shape& shape = item && item->shape.fully_known() ? item->shape : element_shape;
    if (shape.fully_known()) return list_zeros(c, element_type, shape);
    return failure(cat("Could not read from gradient TensorArray index ", index,
                       ".  Furthermore, the element shape is not fully defined: ", shape.to_string(),
                       ".  It is possible you are working with a resizeable TensorArray and stop_gradients is not "
                       "allowing the gradients to be written.  If you set the full element_shape property on the "
                       "forward TensorArray, the proper all-zeros tensor will be returned instead of incurring this "
                       "error."));
  }
  if (item->cleared) {
    return failure(cat("Could not read index ", index,
                       " twice because it was cleared after a previous read (perhaps try setting clear_after_read = "
                       "false?)."));
  }
  if (!item->written)
    return failure(cat("Could not read from TensorArray index ", index, " because it has not yet been written to."));
  Tensor element = item->value;
  item->read = true;
  if (clear_after_read) {
    item->cleared = true;
    item->value = Tensor();
  }
  return element;
}

void TensorArray::take_shapes(const TensorArray& of) {
  for (size_t i = 0; i < items_.size() && i < of.items_.size(); ++i) items_[i].shape = of.items_[i].shape;
}

}  // namespace emplace
