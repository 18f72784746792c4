#include "core/ops/row_ops.h"

#include <type_traits>

#include "core/base/assert.h"

namespace emplace {
namespace {

template <class T, bool kSubtract>
void apply(void* out_raw, const void* in_raw, int64_t n) {
  T* out = static_cast<T*>(out_raw);
  const T* in = static_cast<const T*>(in_raw);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
      float x = static_cast<float>(out[i]), y = static_cast<float>(in[i]);
      out[i] = T(kSubtract ? x - y : x + y);
    } else {
      out[i] = static_cast<T>(kSubtract ? out[i] - in[i] : out[i] + in[i]);
    }
  }
}

// Two's complement: signed integers wrap when they are added as unsigned ones.
template <bool kSubtract>
RowOp choose(DType t) {
  switch (t) {
    case DType::kFloat:
      return apply<float, kSubtract>;
    case DType::kDouble:
      return apply<double, kSubtract>;
    case DType::kHalf:
      return apply<half, kSubtract>;
    case DType::kBFloat16:
      return apply<bfloat16, kSubtract>;
    case DType::kInt8:
    case DType::kUInt8:
      return apply<uint8_t, kSubtract>;
    case DType::kInt16:
    case DType::kUInt16:
      return apply<uint16_t, kSubtract>;
    case DType::kInt32:
    case DType::kUInt32:
      return apply<uint32_t, kSubtract>;
    case DType::kInt64:
    case DType::kUInt64:
      return apply<uint64_t, kSubtract>;
    case DType::kComplex64:
      return apply<std::complex<float>, kSubtract>;
    case DType::kComplex128:
      return apply<std::complex<double>, kSubtract>;
    default:
      break;
  }
  assert_failed("t in kNumbers", "the op is registered for number types only", __FILE__, __LINE__);
}

}  // namespace

RowOp row_add(DType t) { return choose<false>(t); }
RowOp row_subtract(DType t) { return choose<true>(t); }

}  // namespace emplace
