// Where: the coordinates of what is not zero.
#include <complex>

#include "core/base/scratch_vector.h"
#include "core/op/op_def.h"
#include "core/ops/kit/element.h"
#include "core/ops/kit/shape_math.h"

namespace emplace {
namespace {

Status where_shape(ShapeContext& c) {
  c.set_output(0, Shape{-1, c.input(0).rank_known() ? c.input(0).rank() : -1});
  return ok_status();
}

template <class T>
bool is_set(const T& v) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(v) != 0;
  } else {
    return v != T(0);
  }
}

template <class T>
Status where(KernelContext& c) {
  const Tensor& in = c.input(0);
  const Shape& shape = in.shape();
  if (shape.rank() == 0) return invalid_argument("WhereOp : Unhandled input dimensions: 0");
  int64_t count = 0;
  for (const T& v : in.flat<T>()) count += is_set(v) ? 1 : 0;
  RETURN_IF_ERROR(ensure_output(c, 0, Shape{count, shape.rank()}));
  int64_t* out = c.out<int64_t>(0);
  ScratchVector<int64_t> at(static_cast<size_t>(shape.rank()));
  for (const T& v : in.flat<T>()) {
    if (is_set(v)) out = std::copy(at.begin(), at.end(), out);
    for (int d = shape.rank(); d-- > 0;) {
      if (++at[static_cast<size_t>(d)] < shape.dim(d)) break;
      at[static_cast<size_t>(d)] = 0;
    }
  }
  return ok_status();
}

// Zero is all bits zero for everything but floating-point numbers.
Status where_cpu(KernelContext& c) {
  switch (c.input(0).dtype()) {
    case DType::kFloat:
      return where<float>(c);
    case DType::kDouble:
      return where<double>(c);
    case DType::kHalf:
      return where<half>(c);
    case DType::kBFloat16:
      return where<bfloat16>(c);
    case DType::kComplex64:
      return where<std::complex<float>>(c);
    case DType::kComplex128:
      return where<std::complex<double>>(c);
    default:
      break;
  }
  switch (element_stride(c.input(0).dtype())) {
    case 2:
      return where<uint16_t>(c);
    case 4:
      return where<uint32_t>(c);
    case 8:
      return where<uint64_t>(c);
    default:
      return where<uint8_t>(c);
  }
}

}  // namespace

OpDef where_op() {
  return OpDef("Where")
      .doc("The coordinates of the elements that are true or not zero, a row each, in row-major order.")
      .shape(where_shape)
      .cpu(kNumbersAndBool, stateless<where_cpu>)
      .not_differentiable();
}

}  // namespace emplace
