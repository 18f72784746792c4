#include "core/tensor/tensor_proto_fields.h"

namespace emplace::tensor_proto {

uint32_t values_of(DType type) {
  switch (type) {
    case DType::kHalf:
    case DType::kBFloat16:
      return kHalfVal;
    case DType::kFloat:
      return kFloatVal;
    case DType::kDouble:
      return kDoubleVal;
    case DType::kString:
      return kStringVal;
    case DType::kComplex64:
      return kScomplexVal;
    case DType::kComplex128:
      return kDcomplexVal;
    case DType::kInt64:
      return kInt64Val;
    case DType::kBool:
      return kBoolVal;
    case DType::kUInt32:
      return kUint32Val;
    case DType::kUInt64:
      return kUint64Val;
    case DType::kResource:
      return kResourceHandleVal;
    case DType::kVariant:
      return kVariantVal;
    case DType::kInt32:
    case DType::kInt16:
    case DType::kInt8:
    case DType::kUInt16:
    case DType::kUInt8:
    case DType::kQInt8:
    case DType::kQUInt8:
    case DType::kQInt16:
    case DType::kQUInt16:
    case DType::kQInt32:
    case DType::kInt4:
    case DType::kUInt4:
    case DType::kInt2:
    case DType::kUInt2:
      return kIntVal;
    case DType::kFloat8E5M2:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E4M3B11FNUZ:
    case DType::kFloat8E5M2FNUZ:
      return kFloat8Val;
    default:
      return 0;
  }
}

}  // namespace emplace::tensor_proto
