#include "core/ops/state/variable_update.h"

#include <algorithm>

#include "core/base/cat.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"
#include "core/ops/state/variable_state.h"

namespace emplace {
namespace {

// In the compute type, one after the other.
struct Scalars {
  static constexpr size_t kMax = 8;
  alignas(16) std::array<std::byte, kMax * sizeof(complex128)> bytes;
};

class Update final : public Kernel {
 public:
  explicit Update(const UpdateCode& code) : code_(code) {}
  Status run(KernelContext& c) override;

 private:
  Status read_scalars(const KernelContext& c, Scalars& all) const;
  void run_wide(void* const* variables, const Tensor& gradient, const void* scalars, int64_t begin, int64_t end) const;
  Status check_rows(const KernelContext& c, const Shape& shape) const;

  UpdateCode code_;
};

Status Update::read_scalars(const KernelContext& c, Scalars& all) const {
  DType type = c.input(code_.gradient).dtype();
  ConvertFunction widen = widening(type);
  size_t size = dtype_size(compute_type(type)), count = 0;
  for (int i = code_.variables; i < c.num_inputs(); ++i) {
    if (i == code_.gradient || i == code_.indices) continue;
    const Tensor& scalar = c.input(i);
    if (scalar.shape().rank() != 0) {
      return invalid_argument(
          cat(code_.inputs[static_cast<size_t>(i)], " is not a scalar: ", scalar.shape().to_string()));
    }
    void* to = all.bytes.data() + size * count++;
    if (scalar.dtype() == DType::kInt64) {  // the number of a step, which TensorFlow makes a float
      const auto step = static_cast<float>(*scalar.data<int64_t>());
      size == sizeof(float) ? void(*static_cast<float*>(to) = step) : void(*static_cast<double*>(to) = step);
      continue;
    }
    widen ? widen(scalar.raw(), to, 1) : copy_elements(type, scalar.raw(), to, 1);
  }
  return ok_status();
}

Status Update::check_rows(const KernelContext& c, const Shape& shape) const {
  const Tensor& indices = c.input(code_.indices);
  RETURN_IF_ERROR(check_gradient_rows(shape, c.input(code_.gradient).shape(), indices.shape()));
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t row = int_at(indices, i);
    if (row < 0 || row >= shape.dim(0))
      return invalid_argument(cat("Index ", row, " at offset ", i, " in indices is out of range"));
  }
  return ok_status();
}

// Halves compute in float and are rounded once.
void Update::run_wide(void* const* variables, const Tensor& gradient, const void* scalars, int64_t begin,
                      int64_t end) const {
  constexpr int64_t kBlock = 256;
  float wide[kMaxUpdatedVariables + 1][kBlock];
  void* wide_variables[kMaxUpdatedVariables];
  ConvertFunction widen = widening(gradient.dtype()), narrow = narrowing(gradient.dtype());
  for (int64_t at = begin; at < end; at += kBlock) {
    int64_t n = std::min(kBlock, end - at);
    auto stored = [&](int k) { return static_cast<uint16_t*>(variables[k]) + (at - begin); };
    for (int k = 0; k < code_.variables; ++k) {
      wide_variables[k] = wide[k];
      widen(stored(k), wide[k], n);
    }
    widen(element_at(gradient, at), wide[kMaxUpdatedVariables], n);
    code_.function(scalars, code_.flag, wide_variables, wide[kMaxUpdatedVariables], n);
    for (int k = 0; k < code_.variables; ++k) narrow(wide[k], stored(k), n);
  }
}

Status Update::run(KernelContext& c) {
  const Tensor& gradient = c.input(code_.gradient);
  DType type = gradient.dtype();
  Scalars scalars;
  RETURN_IF_ERROR(read_scalars(c, scalars));
  if (code_.refuse) {
    const std::string_view wrong = code_.refuse(scalars.bytes.data(), code_.flag);
    if (!wrong.empty()) return invalid_argument(std::string(wrong));
  }
  LockedVariables variables(c, code_.variables);
  RETURN_IF_ERROR(variables.check(c, code_.gradient, code_.inputs, code_.indices < 0));
  if (code_.indices >= 0) RETURN_IF_ERROR(check_rows(c, variables[0].value.shape()));
  void* base[kMaxUpdatedVariables] = {};
  for (int k = 0; k < code_.variables; ++k) {
    Variable& v = variables[static_cast<size_t>(k)];
    RETURN_IF_ERROR(own_value(c, v));
    base[k] = v.value.raw();
  }
  // Gradient elements [begin, end) for the variables' from `first`.
  auto update = [&](int64_t first, int64_t begin, int64_t end) {
    void* at[kMaxUpdatedVariables] = {};
    for (int k = 0; k < code_.variables; ++k) at[k] = static_cast<char*>(base[k]) + first * element_stride(type);
    if (widening(type) != nullptr) return run_wide(at, gradient, scalars.bytes.data(), begin, end);
    code_.function(scalars.bytes.data(), code_.flag, at, element_at(gradient, begin), end - begin);
  };
  if (code_.indices < 0) {
    c.parallel_for(gradient.num_elements(), 1, [&](int64_t begin, int64_t end) { update(begin, begin, end); });
  } else {
    // In order: a row may stand there twice.
    const Tensor& indices = c.input(code_.indices);
    const int64_t rows = indices.num_elements(), row = rows > 0 ? gradient.num_elements() / rows : 0;
    for (int64_t i = 0; i < rows && row > 0; ++i) update(int_at(indices, i) * row, i * row, (i + 1) * row);
  }
  if (c.num_outputs() > 0) c.forward_output(0, c.input(0));
  return ok_status();
}

// A reference's shape, or what is known of the variable behind a handle.
Shape variable_shape(const ShapeContext& c, int i) {
  if (base_type(c.input_type(i)) != DType::kResource) return c.input(i);
  const HandleInfo* handle = c.input_handle(i);
  return handle ? handle->shape : Shape::unknown();
}

// The gradient has the variable's shape, or with indices its rows' shape and as many rows as those.
Result<Shape> merge_gradient(ShapeContext& c, const UpdateCode& code, Shape& shape) {
  if (code.indices < 0) {
    ASSIGN_OR_RETURN(shape, ShapeContext::merge(shape, c.input(code.gradient)));
    return shape;
  }
  ASSIGN_OR_RETURN(Shape of_variable, subshape(shape, 1));
  return ShapeContext::merge(c.input(code.gradient), concat_shapes(c.input(code.indices), of_variable));
}

}  // namespace

std::unique_ptr<Kernel> make_update(UpdateCode code) { return std::make_unique<Update>(code); }

Status update_shape(ShapeContext& c, const UpdateCode& code) {
  Shape shape = variable_shape(c, 0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (i < code.variables) {
      ASSIGN_OR_RETURN(shape, ShapeContext::merge(shape, variable_shape(c, i)));
    } else if (i == code.gradient) {
      RETURN_IF_ERROR(merge_gradient(c, code, shape).take_status());
    } else if (i == code.indices) {
      RETURN_IF_ERROR(c.with_rank(i, 1).take_status());
    } else {
      RETURN_IF_ERROR(c.with_rank(i, 0).take_status());
    }
  }
  if (c.num_outputs() > 0) c.set_output(0, shape);
  return ok_status();
}

}  // namespace emplace
