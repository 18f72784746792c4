/// Literals in input lists: which element type a consumer wants, and the value in that type.
#pragma once

#include "core/base/dtype.h"
#include "core/base/status.h"
#include "core/op/signature.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// What a literal becomes where neither the op nor another input says it: float32 for numbers (int32 where float32 is
/// not allowed), string for text, bool for truth values. `attr`, the type attr in question, may be null.
DType natural_literal_type(const Tensor& written, const AttrSignature* attr);

/// The value as written (float64, int64, bool or string) in another type. InvalidArgument where it cannot be held:
/// a fraction or a number out of range as an integer, text as a number.
Result<Tensor> convert_literal(const Tensor& written, DType type);

}  // namespace emplace
