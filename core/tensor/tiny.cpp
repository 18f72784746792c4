#include "core/tensor/tiny.h"

#include <cmath>

#include "core/base/cat.h"
#include "core/base/tiny_float.h"

namespace emplace {

Result<Tensor> as_plain(const Tensor& t) {
  const DType plain = plain_type(t.dtype());
  if (plain == t.dtype()) return t;
  ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(plain, t.shape()));
  const auto* in = static_cast<const uint8_t*>(t.raw());
  for (int64_t i = 0; i < t.num_elements(); ++i) {
    if (plain == DType::kFloat) {
      out.data<float>()[i] = tiny_float_value(t.dtype(), in[i]);
    } else {
      static_cast<uint8_t*>(out.raw())[i] = in[i];
    }
  }
  return out;
}

Result<Tensor> from_plain(const Tensor& plain, DType dtype) {
  if (plain.dtype() == dtype) return plain;
  ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(dtype, plain.shape()));
  auto* to = static_cast<uint8_t*>(out.raw());
  for (int64_t i = 0; i < plain.num_elements(); ++i) {
    if (plain.dtype() == DType::kFloat) {
      const float v = plain.data<float>()[i];
      to[i] = tiny_float_bits(dtype, v);
      if (std::isfinite(v) && !std::isfinite(tiny_float_value(dtype, to[i])))
        return invalid_argument(cat(v, " does not fit ", dtype_name(dtype)));
      continue;
    }
    const auto* in = static_cast<const uint8_t*>(plain.raw());
    to[i] = static_cast<uint8_t>(tiny_int(dtype, in[i]));
    const int v = plain.dtype() == DType::kInt8 ? static_cast<int8_t>(in[i]) : in[i];
    if (to[i] != in[i]) return invalid_argument(cat(v, " does not fit ", dtype_name(dtype)));
  }
  return out;
}

}  // namespace emplace
