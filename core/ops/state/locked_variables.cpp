#include "core/ops/state/locked_variables.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/ops/state/variable_state.h"

namespace emplace {

LockedVariables::LockedVariables(const KernelContext& c, int count) : count_(count) {
  for (int i = 0; i < count; ++i) variables_[static_cast<size_t>(i)] = &c.variable(i);
  in_order_ = variables_;
  std::sort(in_order_.begin(), in_order_.begin() + count);
  end_ = std::unique(in_order_.begin(), in_order_.begin() + count);
  std::for_each(in_order_.begin(), end_, [](Variable* v) { v->mutex.lock(); });
}

LockedVariables::~LockedVariables() {
  std::for_each(in_order_.begin(), end_, [](Variable* v) { v->mutex.unlock(); });
}

Status LockedVariables::check(const KernelContext& c, int gradient_input, std::span<const char* const> names,
                              bool whole) const {
  const Tensor& gradient = c.input(gradient_input);
  for (int i = 0; i < count_; ++i) {
    const Variable& v = (*this)[static_cast<size_t>(i)];
    if (!v.value.valid()) return is_ref(c.input(i).dtype()) ? uninitialized(v) : no_such_variable(v);
    if (v.dtype != gradient.dtype()) return updates_of_other_type(v, gradient.dtype());
  }
  const Shape& shape = (*this)[0].value.shape();
  auto same_shape = [&](int i, const Shape& other) {
    if (other == shape) return ok_status();
    return invalid_argument(cat(names[0], " and ", names[static_cast<size_t>(i)], " do not have the same shape ",
                                shape.to_string(), " ", other.to_string()));
  };
  for (int i = 1; i < count_; ++i) {
    RETURN_IF_ERROR(same_shape(i, (*this)[static_cast<size_t>(i)].value.shape()));
  }
  return whole ? same_shape(gradient_input, gradient.shape()) : ok_status();
}

Status check_gradient_rows(const Shape& variable, const Shape& gradient, const Shape& indices) {
  if (variable.rank() < 1) return invalid_argument("var must be at least 1 dimensional");
  if (indices.rank() != 1) return invalid_argument("indices must be one-dimensional");
  const bool rows_fit = gradient.rank() == variable.rank();
  for (int i = 1; rows_fit && i < variable.rank(); ++i) {
    if (gradient.dim(i) != variable.dim(i)) return invalid_argument(cat("var and grad must match in dimension ", i));
  }
  if (!rows_fit || gradient.dim(0) != indices.dim(0)) {
    return invalid_argument("grad must be the same size as indices in the first dimension.");
  }
  return ok_status();
}

}  // namespace emplace
