/// Fields of a TensorProto (tensorflow/core/framework/tensor.proto), and which of them holds the values of a type: for
/// graph files, and for ops that read or write such messages.
#pragma once

#include <cstdint>

#include "core/base/dtype.h"

namespace emplace::tensor_proto {

inline constexpr uint32_t kDType = 1, kTensorShape = 2, kTensorContent = 4, kFloatVal = 5, kDoubleVal = 6, kIntVal = 7,
                          kStringVal = 8, kScomplexVal = 9, kInt64Val = 10, kBoolVal = 11, kDcomplexVal = 12,
                          kHalfVal = 13, kResourceHandleVal = 14, kVariantVal = 15, kUint32Val = 16, kUint64Val = 17,
                          kFloat8Val = 18;

/// 0: none can hold them.
uint32_t values_of(DType type);

}  // namespace emplace::tensor_proto
