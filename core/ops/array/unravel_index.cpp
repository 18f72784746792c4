// UnravelIndex: places in a flat tensor as indices of one that has the given sizes.
#include "core/base/cat.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status unravel_index_shape(ShapeContext& c) {
  const Shape& indices = c.input(0);
  ASSIGN_OR_RETURN(const Shape dims, c.with_rank(1, 1));
  if (!indices.rank_known()) return ok_status();
  c.set_output(0, indices.rank() == 0 ? Shape{dims.dim(0)} : Shape{dims.dim(0), elements_or_unknown(indices)});
  return ok_status();
}

/// The product of sizes, each of which has to be there; it fits into the type of the indices.
Result<int64_t> product_of_sizes(const Tensor& dims) {
  int64_t product = 1;
  for (int64_t i = 0; i < dims.num_elements(); ++i) {
    const int64_t size = int_at(dims, i);
    if (size == 0)
      return invalid_argument(cat("Input dims cannot contain a dim of zero, but dims contains zero at index ", i));
    if (size < 0) return invalid_argument(cat("Input dims cannot be negative. Got dim = ", size, " at index ", i));
    const bool too_large = __builtin_mul_overflow(product, size, &product);
    if (too_large || (dims.dtype() == DType::kInt32 && product > INT32_MAX))
      return invalid_argument(cat("Input dims product is causing integer overflow: ",
                                  Shape{dims.num_elements()}.to_string(), " sizes up to number ", i));
  }
  return product;
}

Status unravel_index_cpu(KernelContext& c) {
  const Tensor &indices = c.input(0), &dims = c.input(1);
  if (indices.shape().rank() > 1)
    return invalid_argument(cat("The indices can only be scalar or vector, got \"", indices.shape().to_string(), "\""));
  if (dims.shape().rank() != 1)
    return invalid_argument(cat("The indices can only be 1-D, got \"", dims.shape().to_string(), "\""));
  ASSIGN_OR_RETURN(int64_t product, product_of_sizes(dims));
  const int64_t n = indices.num_elements();
  if (n == 0) return invalid_argument("received empty tensor indices");
  for (int64_t i = 0; i < n; ++i) {
    if (int_at(indices, i) >= product)
      return invalid_argument(cat("index is out of bound as with dims: ", int_at(indices, i), " of ", product));
  }
  with_index(dims.dtype(), [&]<class Index>(Index) {
    for (int64_t d = 0; d < dims.num_elements(); ++d) {
      const int64_t whole = product;
      product /= int_at(dims, d);
      for (int64_t i = 0; i < n; ++i)
        c.out<Index>(0)[d * n + i] = static_cast<Index>(int_at(indices, i) % whole / product);
    }
  });
  return ok_status();
}

}  // namespace

OpDef unravel_index_op() {
  return OpDef("UnravelIndex")
      .doc("Places in a flat tensor as indices, one row for each dimension of a tensor of the sizes `dims`.")
      .shape(unravel_index_shape)
      .cpu(DTypeSet{DType::kInt32, DType::kInt64}, stateless<unravel_index_cpu>);
}

}  // namespace emplace
