#include "core/ops/ragged/ragged_stack.h"

#include "core/base/cat.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Result<const TensorList*> ragged_in(const Tensor& variant, size_t i) {
  if (variant.valid()) {
    Result<const TensorList*> held = held_in(variant);
    if (held.ok() && (*held)->held == Held::kRagged) return held;
  }
  return invalid_argument(cat("Input Variant element at index ", i,
                              " doesn't hold a RaggedTensorVariant: ", variant.valid() ? "a list" : "nothing"));
}

Status check_type(const Tensor& values, DType type) {
  if (values.dtype() == type) return ok_status();
  return invalid_argument(
      cat("Expected values Tensor dtype: ", dtype_tf_name(type), ", found: ", dtype_tf_name(values.dtype())));
}

}  // namespace

Result<Tensor> ragged_values(const Tensor& variant, int64_t i, DType type) {
  ASSIGN_OR_RETURN(const TensorList* held, ragged_in(variant, static_cast<size_t>(i)));
  const Tensor& values = held->elements[held->size() - 1];
  RETURN_IF_ERROR(check_type(values, type));
  return values;
}

Status RaggedStack::add(const Tensor& variant) {
  const size_t i = parts.size();
  ASSIGN_OR_RETURN(const TensorList* held, ragged_in(variant, i));
  if (held->size() - 1 != depth) {
    return invalid_argument(cat("Encoded input RaggedTensorVariant has ragged_rank=", held->size() - 1,
                                ".  Expected ragged_rank=", depth, "."));
  }
  const Tensor& its_values = held->elements[depth];
  RETURN_IF_ERROR(check_type(its_values, values));
  if (its_values.shape().rank() < 1 && of_rows) {
    return invalid_argument(cat("Ragged values must have rank >= 1; encoded scalar element at index ", i,
                                " has values Tensor of shape []"));
  }
  for (int level = 0; level < depth; ++level) {
    const Tensor& its_splits = held->elements[level];
    if (its_splits.dtype() != splits) {
      return invalid_argument(cat("Expected row_splits Tensor dtype: ", dtype_tf_name(splits),
                                  ", found: ", dtype_tf_name(its_splits.dtype())));
    }
    if (its_splits.shape().rank() != 1 || its_splits.num_elements() == 0) {
      return invalid_argument(cat("Ragged splits must have rank 1; encoded scalar element at index ", i,
                                  " has splits Tensor of shape ", its_splits.shape().to_string()));
    }
  }
  parts.push_back(held->elements);
  return ok_status();
}

Status RaggedStack::put_alone(KernelContext& c) const {
  for (int i = 0; i <= depth; ++i) c.forward_output(i, parts[0][i]);
  return ok_status();
}

Status RaggedStack::put_dense(KernelContext& c) const {
  if (parts.empty()) return c.allocate_output(0, Shape{0});
  const Shape& row = values_of(0).shape();
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!(values_of(i).shape() == row)) {
      return invalid_argument(cat("All flat_values must have compatible shapes.  Shape at index 0: ", row.to_string(),
                                  ".  Shape at index ", i, ": ", values_of(i).shape().to_string()));
    }
  }
  RETURN_IF_ERROR(c.allocate_output(0, concat_shapes(Shape{static_cast<int64_t>(parts.size())}, row)));
  Tensor& to = c.output(0);
  for (size_t i = 0; i < parts.size(); ++i) {
    copy_elements(*c.parallel_, values, values_of(i).raw(),
                  element_at(to, static_cast<int64_t>(i) * row.num_elements()), row.num_elements());
  }
  return ok_status();
}

Status RaggedStack::put_ragged(KernelContext& c, const Shape& outer) const {
  RETURN_IF_ERROR(put_outer_splits(c, outer));
  for (int level = 0; level < depth; ++level) RETURN_IF_ERROR(put_inner_splits(c, level, outer.rank() + level));
  return put_values(c, outer.rank() + depth);
}

// Rows of equal length, but for the last dimension's, which are the parts.
Status RaggedStack::put_outer_splits(KernelContext& c, const Shape& outer) const {
  for (int d = 0; d + 1 < outer.rank(); ++d) {
    RETURN_IF_ERROR(c.allocate_output(d, Shape{outer.dim(d) + 1}));
    with_index(splits, [&]<class I>(I) {
      for (int64_t row = 0; row <= outer.dim(d); ++row) c.out<I>(d)[row] = static_cast<I>(row * outer.dim(d + 1));
    });
  }
  const int last = outer.rank() - 1;
  RETURN_IF_ERROR(c.allocate_output(last, Shape{static_cast<int64_t>(parts.size()) + 1}));
  with_index(splits, [&]<class I>(I) {
    I* to = c.out<I>(last);
    int64_t at = 0;
    *to++ = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      at += depth > 0 ? parts[i][0].num_elements() - 1 : values_of(i).shape().dim(0);
      *to++ = static_cast<I>(at);
    }
  });
  return ok_status();
}

// Each part's splits go on where the last one's ended.
Status RaggedStack::put_inner_splits(KernelContext& c, int level, int output) const {
  int64_t count = 1;
  for (const ListElements& part : parts) count += part[level].num_elements() - 1;
  RETURN_IF_ERROR(c.allocate_output(output, Shape{count}));
  with_index(splits, [&]<class I>(I) {
    I* to = c.out<I>(output);
    *to = 0;
    for (const ListElements& part : parts) {
      const I before = *to;
      for (int64_t i = 1; i < part[level].num_elements(); ++i)
        *++to = static_cast<I>(static_cast<uint64_t>(int_at(part[level], i)) + static_cast<uint64_t>(before));
    }
  });
  return ok_status();
}

Status RaggedStack::put_values(KernelContext& c, int output) const {
  Shape whole = parts.empty() ? Shape{0} : values_of(0).shape();
  for (size_t i = 1; i < parts.size(); ++i) {
    const Shape& shape = values_of(i).shape();
    if (shape.rank() != whole.rank()) {
      return invalid_argument(cat(
          "Rank of values must match for all components; values shape at index 0: ", values_of(0).shape().to_string(),
          ", values shape at index ", i, ": ", shape.to_string()));
    }
    for (int d = 1; d < whole.rank(); ++d) {
      if (shape.dim(d) != whole.dim(d))
        return invalid_argument(cat("Inner sizes of values must match for all components; values shape at index 0: ",
                                    values_of(0).shape().to_string(), ", values shape at index ", i, ": ",
                                    shape.to_string()));
    }
    whole.dim(0) += shape.dim(0);
  }
  RETURN_IF_ERROR(c.allocate_output(output, whole));
  Tensor& to = c.output(output);
  int64_t at = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    copy_elements(*c.parallel_, values, values_of(i).raw(), element_at(to, at), values_of(i).num_elements());
    at += values_of(i).num_elements();
  }
  return ok_status();
}

}  // namespace emplace
