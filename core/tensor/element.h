/// One element of a tensor, set from text or from a number; and calling code with the C++ type of a dtype.
#pragma once

#include <complex>
#include <string>
#include <string_view>

#include "core/tensor/tensor.h"

namespace emplace {

/// Calls f.template operator()<T>() with the C++ type of a data type (numbers, bool, string); false for other dtypes.
template <class F>
bool with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kFloat:
      f.template operator()<float>();
      return true;
    case DType::kDouble:
      f.template operator()<double>();
      return true;
    case DType::kHalf:
      f.template operator()<half>();
      return true;
    case DType::kBFloat16:
      f.template operator()<bfloat16>();
      return true;
    case DType::kInt8:
      f.template operator()<int8_t>();
      return true;
    case DType::kInt16:
      f.template operator()<int16_t>();
      return true;
    case DType::kInt32:
      f.template operator()<int32_t>();
      return true;
    case DType::kInt64:
      f.template operator()<int64_t>();
      return true;
    case DType::kUInt8:
      f.template operator()<uint8_t>();
      return true;
    case DType::kUInt16:
      f.template operator()<uint16_t>();
      return true;
    case DType::kUInt32:
      f.template operator()<uint32_t>();
      return true;
    case DType::kUInt64:
      f.template operator()<uint64_t>();
      return true;
    case DType::kBool:
      f.template operator()<bool>();
      return true;
    case DType::kComplex64:
      f.template operator()<std::complex<float>>();
      return true;
    case DType::kComplex128:
      f.template operator()<std::complex<double>>();
      return true;
    case DType::kString:
      f.template operator()<std::string>();
      return true;
    default:
      return false;
  }
}

/// A real number in `T`, rounded once to nearest even; integers and bool as C++ converts them.
template <class T>
T number_as(double v);

/// "3", "-1.5e3", "nan", "Infinity", "true", "1+2j", or any text for strings. InvalidArgument if the word is no such
/// number or does not fit the type.
template <class T>
Result<T> parse_element(std::string_view word);

}  // namespace emplace
