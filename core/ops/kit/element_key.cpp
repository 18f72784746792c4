#include "core/ops/kit/element_key.h"

#include <bit>
#include <cmath>
#include <type_traits>

#include "core/ops/kit/element.h"

namespace emplace {
namespace {

template <class T, class Bits>
std::optional<uint64_t> float_key(const Tensor& t, int64_t i) {
  T v = t.data<T>()[i];
  if (std::isnan(static_cast<float>(v))) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (v == 0) return 0;
  }
  return std::bit_cast<Bits>(v);
}

}  // namespace

std::optional<uint64_t> element_key(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kFloat:
      return float_key<float, uint32_t>(t, i);
    case DType::kDouble:
      return float_key<double, uint64_t>(t, i);
    case DType::kHalf:
      return float_key<half, uint16_t>(t, i);
    case DType::kBFloat16:
      return float_key<bfloat16, uint16_t>(t, i);
    default:
      break;
  }
  switch (element_stride(t.dtype())) {
    case 2:
      return t.data<uint16_t>()[i];
    case 4:
      return t.data<uint32_t>()[i];
    case 8:
      return t.data<uint64_t>()[i];
    default:
      return t.data<uint8_t>()[i];
  }
}

}  // namespace emplace
