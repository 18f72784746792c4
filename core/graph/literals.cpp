#include "core/graph/literals.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "core/base/cat.h"

namespace emplace {
namespace {

Status no_fit(const std::string& value, DType type) {
  return invalid_argument(cat("the literal ", value, " is not of type ", dtype_name(type)));
}

template <class T>
Status put(double v, T* out) {
  if constexpr (std::is_integral_v<T>) {
    // The bounds are powers of two, hence exact in double.
    constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(v >= kLow && v < high) || v != std::trunc(v)) return no_fit(cat(v), dtype_of<T>);
    *out = static_cast<T>(v);
  } else if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    *out = T(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    *out = static_cast<T>(v);
  } else {
    *out = T(static_cast<typename T::value_type>(v));
  }
  return ok_status();
}

template <class T>
Status put(int64_t v, T* out) {
  if constexpr (std::is_integral_v<T>) {
    if (!std::in_range<T>(v)) return no_fit(cat(v), dtype_of<T>);
    *out = static_cast<T>(v);
    return ok_status();
  } else {
    return put(static_cast<double>(v), out);
  }
}

template <class From, class To>
Result<Tensor> convert_all(const Tensor& written) {
  ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(dtype_of<To>, written.shape()));
  for (int64_t i = 0; i < written.num_elements(); ++i) {
    RETURN_IF_ERROR(put<To>(written.data<From>()[i], out.data<To>() + i));
  }
  return out;
}

template <class To>
Result<Tensor> convert_numbers(const Tensor& written) {
  if (written.dtype() == DType::kInt64) return convert_all<int64_t, To>(written);
  return convert_all<double, To>(written);
}

}  // namespace

DType natural_literal_type(const Tensor& written, const AttrSignature* attr) {
  if (written.dtype() == DType::kString || written.dtype() == DType::kBool) return written.dtype();
  const auto* allowed = attr && attr->allowed_values ? attr->allowed_values->get_if<std::vector<DType>>() : nullptr;
  if (!allowed || allowed->empty()) return DType::kFloat;
  for (DType t : {DType::kFloat, DType::kInt32}) {
    if (std::find(allowed->begin(), allowed->end(), t) != allowed->end()) return t;
  }
  return allowed->front();
}

Result<Tensor> convert_literal(const Tensor& written, DType type) {
  if (written.dtype() == type) return written;
  if (written.dtype() == DType::kString) return no_fit("text", type);
  if (written.dtype() == DType::kBool) return no_fit("truth value", type);
  switch (type) {
    case DType::kFloat:
      return convert_numbers<float>(written);
    case DType::kDouble:
      return convert_numbers<double>(written);
    case DType::kHalf:
      return convert_numbers<half>(written);
    case DType::kBFloat16:
      return convert_numbers<bfloat16>(written);
    case DType::kInt8:
      return convert_numbers<int8_t>(written);
    case DType::kInt16:
      return convert_numbers<int16_t>(written);
    case DType::kInt32:
      return convert_numbers<int32_t>(written);
    case DType::kInt64:
      return convert_numbers<int64_t>(written);
    case DType::kUInt8:
      return convert_numbers<uint8_t>(written);
    case DType::kUInt16:
      return convert_numbers<uint16_t>(written);
    case DType::kUInt32:
      return convert_numbers<uint32_t>(written);
    case DType::kUInt64:
      return convert_numbers<uint64_t>(written);
    case DType::kComplex64:
      return convert_numbers<std::complex<float>>(written);
    case DType::kComplex128:
      return convert_numbers<std::complex<double>>(written);
    default:
      return invalid_argument(cat("a literal cannot be written where ", dtype_name(type), " is wanted"));
  }
}

}  // namespace emplace
