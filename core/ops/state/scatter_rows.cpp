// ScatterAdd, Sub, Mul, Div, Max, Min, Update and the Resource forms: rows of a variable changed in place.
#include <type_traits>

#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/index_text.h"
#include "core/ops/kit/numeric.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/state/variable_state.h"
#include "core/tensor/element.h"

namespace emplace {
namespace {

/// The variable's element where either is NaN.
struct Larger {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? b : a;
  }
};
struct Smaller {
  template <class T>
  static T apply(T a, T b) {
    return b < a ? b : a;
  }
};
/// Integers wrap. REQUIRES: none is divided by 0.
struct Quotient {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (b == T(-1)) return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(a));
    }
    return static_cast<T>(a / b);
  }
};

template <class T, class F>
void change(void* out_raw, const void* in_raw, int64_t n) {
  T* out = static_cast<T*>(out_raw);
  const T* in = static_cast<const T*>(in_raw);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kIsHalf<T>)
      out[i] = T(F::apply(static_cast<float>(out[i]), static_cast<float>(in[i])));
    else
      out[i] = F::apply(out[i], in[i]);
  }
}

/// `kOrdered`: of numbers that can be compared.
template <class F, bool kOrdered>
RowOp row_op(DType type) {
  RowOp chosen = nullptr;
  with_type(type, [&]<class T>() {
    constexpr bool kNumber = !std::is_same_v<T, bool> && !std::is_same_v<T, std::string>;
    if constexpr (kNumber && !(kOrdered && kIsComplex<T>)) chosen = change<T, F>;
  });
  return chosen;
}

bool holds_zero(const Tensor& t) {
  bool found = false;
  with_type(t.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, std::string>) {
      for (const T& x : t.flat<T>()) found = found || x == T(0);
    }
  });
  return found;
}

Status scatter_rows_shape(ShapeContext& c) {
  ASSIGN_OR_RETURN(Shape row, subshape(c.input(0), 1));
  const Shape& updates = c.input(2);
  if (!updates.rank_known() || updates.rank() > 0) {
    RETURN_IF_ERROR(ShapeContext::merge(concat_shapes(c.input(1), row), updates).take_status());
  }
  c.set_output(0, c.input(0));
  return ok_status();
}

Status resource_scatter_shape(ShapeContext& c) {
  const HandleInfo* handle = c.input_handle(0);
  ASSIGN_OR_RETURN(Shape row, subshape(handle ? handle->shape : Shape::unknown(), 1));
  const Shape& updates = c.input(2);
  if (updates.rank_known() && updates.rank() == 0) return ok_status();
  return ShapeContext::merge(concat_shapes(c.input(1), row), updates).take_status();
}

// `op` null: assign. A scalar update stands for every element.
Status scatter_rows(KernelContext& c, RowOp op) {
  Variable& v = c.variable(0);
  const Tensor& indices = c.input(1);
  const Tensor& updates = c.input(2);
  std::lock_guard lock(v.mutex);
  if (!v.value.valid()) return is_ref(c.input(0).dtype()) ? uninitialized(v) : no_such_variable(v);
  if (v.dtype != updates.dtype()) return updates_of_other_type(v, updates.dtype());
  const Shape shape = v.value.shape();
  if (shape.rank() < 1) return invalid_argument("params must be at least 1-D, got shape []");
  Shape wanted = indices.shape();
  for (int i = 1; i < shape.rank(); ++i) wanted.add_dim(shape.dim(i));
  bool scalar = updates.shape().rank() == 0;
  if (!scalar && !(updates.shape() == wanted)) {
    return invalid_argument(
        cat("Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got ", "updates.shape ",
            updates.shape().to_string(), ", indices.shape ", indices.shape().to_string(), ", params.shape ",
            shape.to_string()));
  }
  RETURN_IF_ERROR(own_value(c, v));
  Tensor& value = v.value;
  int64_t row = shape.dim(0) > 0 ? value.num_elements() / shape.dim(0) : 0;
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    int64_t at = int_at(indices, i);
    if (at < 0 || at >= shape.dim(0)) {
      return invalid_argument(cat("indices", place_text(indices.shape(), indices.shape().rank(), i), " = ", at,
                                  " is not in [0, ", shape.dim(0), ")"));
    }
    for (int64_t k = 0; k < (scalar ? row : 1); ++k) {
      void* to = element_at(value, at * row + k);
      const void* from = scalar ? updates.raw() : element_at(updates, i * row);
      int64_t n = scalar ? 1 : row;
      op == nullptr ? copy_elements(value.dtype(), from, to, n) : op(to, from, n);
    }
  }
  if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
  return ok_status();
}

Status scatter_mul_cpu(KernelContext& c) { return scatter_rows(c, row_multiply(c.input(2).dtype())); }
Status scatter_div_cpu(KernelContext& c) {
  // Of references TensorFlow lets floating-point numbers be, and ends where integers are.
  const DType type = c.input(2).dtype();
  const bool may_hold_zero = is_ref(c.input(0).dtype()) && (is_floating(type) || is_complex(type));
  if (!may_hold_zero && holds_zero(c.input(2))) return invalid_argument("updates must not contain 0");
  return scatter_rows(c, row_op<Quotient, false>(c.input(2).dtype()));
}
Status scatter_max_cpu(KernelContext& c) { return scatter_rows(c, row_op<Larger, true>(c.input(2).dtype())); }
Status scatter_min_cpu(KernelContext& c) { return scatter_rows(c, row_op<Smaller, true>(c.input(2).dtype())); }
Status scatter_add_cpu(KernelContext& c) { return scatter_rows(c, row_add(c.input(2).dtype())); }
Status scatter_sub_cpu(KernelContext& c) { return scatter_rows(c, row_subtract(c.input(2).dtype())); }
Status scatter_update_cpu(KernelContext& c) { return scatter_rows(c, nullptr); }

OpDef scattering(std::string_view name, std::string_view doc, DTypeSet types, KernelMaker maker) {
  return OpDef(name)
      .doc(doc)
      .traits({.writes_variable = true})
      .shape(scatter_rows_shape)
      .cpu(types, maker)
      .provides_outputs();
}

OpDef resource_scattering(std::string_view name, std::string_view doc, DTypeSet types, KernelMaker maker) {
  return OpDef(name)
      .doc(doc)
      .traits({.writes_variable = true})
      .shape(resource_scatter_shape)
      .kernel_attr("dtype")
      .cpu(types, maker);
}

}  // namespace

OpDef scatter_add_op() {
  return scattering("ScatterAdd", "ref[indices[i]] += updates[i]; gives ref.", kNumbers, stateless<scatter_add_cpu>)
      .not_differentiable();
}
OpDef scatter_sub_op() {
  return scattering("ScatterSub", "ref[indices[i]] -= updates[i]; gives ref.", kNumbers, stateless<scatter_sub_cpu>)
      .not_differentiable();
}
OpDef scatter_update_op() {
  return scattering("ScatterUpdate", "ref[indices[i]] = updates[i]; gives ref.", kMovable,
                    stateless<scatter_update_cpu>);
}

OpDef scatter_mul_op() {
  return scattering("ScatterMul", "ref[indices[i]] *= updates[i]; gives ref.", kNumbers, stateless<scatter_mul_cpu>)
      .not_differentiable();
}
OpDef scatter_div_op() {
  return scattering("ScatterDiv", "ref[indices[i]] /= updates[i]; gives ref.", kNumbers, stateless<scatter_div_cpu>)
      .not_differentiable();
}
OpDef scatter_max_op() {
  return scattering("ScatterMax", "The larger of ref[indices[i]] and updates[i]; gives ref.", kRealNumbers,
                    stateless<scatter_max_cpu>);
}
OpDef scatter_min_op() {
  return scattering("ScatterMin", "The smaller of ref[indices[i]] and updates[i]; gives ref.", kRealNumbers,
                    stateless<scatter_min_cpu>);
}

OpDef resource_scatter_mul_op() {
  return resource_scattering("ResourceScatterMul", "variable[indices[i]] *= updates[i].", kNumbers,
                             stateless<scatter_mul_cpu>);
}
OpDef resource_scatter_div_op() {
  return resource_scattering("ResourceScatterDiv", "variable[indices[i]] /= updates[i].", kNumbers,
                             stateless<scatter_div_cpu>);
}
OpDef resource_scatter_max_op() {
  return resource_scattering("ResourceScatterMax", "The larger of variable[indices[i]] and updates[i].", kRealNumbers,
                             stateless<scatter_max_cpu>);
}
OpDef resource_scatter_min_op() {
  return resource_scattering("ResourceScatterMin", "The smaller of variable[indices[i]] and updates[i].", kRealNumbers,
                             stateless<scatter_min_cpu>);
}
OpDef resource_scatter_add_op() {
  return resource_scattering("ResourceScatterAdd", "variable[indices[i]] += updates[i].", kNumbers,
                             stateless<scatter_add_cpu>);
}
OpDef resource_scatter_sub_op() {
  return resource_scattering("ResourceScatterSub", "variable[indices[i]] -= updates[i].", kNumbers,
                             stateless<scatter_sub_cpu>);
}
OpDef resource_scatter_update_op() {
  return resource_scattering("ResourceScatterUpdate", "variable[indices[i]] = updates[i].", kAllData,
                             stateless<scatter_update_cpu>);
}

}  // namespace emplace
