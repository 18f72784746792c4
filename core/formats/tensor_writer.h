/// Tensors in protobuf's JSON mapping.
#pragma once

#include "core/base/json_writer.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// A TensorProto: few elements as a list, equal ones as one, many as bytes.
void write_tensor_proto(JsonWriter& json, const Tensor& tensor);
/// A TensorShapeProto.
void write_shape_proto(JsonWriter& json, const Shape& shape);

}  // namespace emplace
