/// Tensors written in JSON: what `run --format json` prints, and what people write.
#pragma once

#include <string_view>

#include "core/tensor/tensor.h"

namespace emplace {

/// A number, a string, true or false, a (nested) list of those, or {"dtype", "shape", "data"} with flat data. "NaN",
/// "Infinity" and "-Infinity" are numbers; {"base64": "..."} is a string; a complex number is [real, imaginary] in
/// flat data. Elements are read as `dtype`, which a "dtype" must equal. `origin` stands in messages.
Result<Tensor> parse_json_tensor(std::string_view json, DType dtype, std::string_view origin);

}  // namespace emplace
