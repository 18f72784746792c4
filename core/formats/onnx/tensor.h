/// TensorProto of ONNX: element types, and values in the file or in files beside it.
#pragma once

#include <optional>
#include <string_view>

#include "core/formats/wire_context.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// TensorProto.DataType; nothing for numbers that name none, or one that no tensor here has.
std::optional<DType> onnx_dtype(int64_t number);

/// Nothing, and a problem told, if the message is wrong. Values that stand in a mapped file as memory has them stay
/// there; those of other files (`external_data`) are mapped too, and lie in the model's folder or where --allow-path
/// says.
std::optional<Tensor> read_onnx_tensor(WireContext& w, std::string_view message);

}  // namespace emplace
