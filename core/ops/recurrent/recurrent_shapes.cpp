#include "core/ops/recurrent/recurrent_shapes.h"

#include "core/base/cat.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {

Result<Shape> recurrent_output(ShapeContext& c, const RecurrentInputs& in, int gates) {
  ASSIGN_OR_RETURN(const Shape x, c.with_rank(0, 3));
  ASSIGN_OR_RETURN(const Shape r, c.with_rank(in.r, 2));
  ASSIGN_OR_RETURN(const Shape first, c.with_rank(in.h, 2));
  ASSIGN_OR_RETURN(const int64_t hidden, ShapeContext::merge_dim(r.dim(0), first.dim(1)));
  ASSIGN_OR_RETURN(const int64_t batch, ShapeContext::merge_dim(x.dim(1), first.dim(0)));
  if (hidden >= 0) {
    ASSIGN_OR_RETURN(const int64_t width, multiply_dims(hidden, gates));
    RETURN_IF_ERROR(ShapeContext::merge_dim(x.dim(2), width).take_status());
    RETURN_IF_ERROR(ShapeContext::merge_dim(r.dim(1), width).take_status());
  }
  if (in.c >= 0) {
    ASSIGN_OR_RETURN(const Shape cells, c.with_rank(in.c, 2));
    RETURN_IF_ERROR(ShapeContext::merge(cells, Shape{batch, hidden}).take_status());
  }
  return Shape{x.dim(0), batch, hidden};
}

Status check_lengths(const Tensor& lengths, int64_t batch, int64_t steps) {
  if (lengths.num_elements() == 0) return ok_status();
  if (lengths.num_elements() != batch)
    return invalid_argument(cat("wanted ", batch, " lengths, or none; got ", lengths.num_elements()));
  for (int32_t n : lengths.flat<int32_t>()) {
    if (n < 0 || n > steps) return invalid_argument(cat("a sequence of ", n, " of ", steps, " steps"));
  }
  return ok_status();
}

Status check_bias(const Tensor& bias, int64_t hidden) {
  if (bias.num_elements() == hidden) return ok_status();
  return invalid_argument(cat("bias must have ", hidden, " elements, got ", bias.shape().to_string()));
}

}  // namespace emplace
