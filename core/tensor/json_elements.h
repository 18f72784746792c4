/// A tensor's elements in JSON, so that they read back to the same bits.
#pragma once

#include <functional>

#include "core/base/json_writer.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// The elements as a flat list, in row-major order: numbers, true and false, text or {"base64": "..."}, a pair for a
/// complex number. Nothing for dtypes without a JSON form. `drain`, if any, is called now and then: it may take away
/// what is written so far, which is many times as long as the tensor.
void write_json_elements(JsonWriter& json, const Tensor& tensor, const std::function<void()>& drain = {});

}  // namespace emplace
