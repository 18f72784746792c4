/// TensorProto and TensorShapeProto in protobuf's binary form.
#pragma once

#include <optional>
#include <string_view>

#include "core/formats/wire_context.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// Nothing, and a problem told, if the message is wrong. Values that stand in a mapped file as memory has them stay
/// there.
std::optional<Tensor> read_wire_tensor(WireContext& w, std::string_view message);

/// Sizes are at least -1 (unknown).
std::optional<Shape> read_wire_shape(WireContext& w, std::string_view message);

/// A number of DataType; `at`: for the problem.
std::optional<DType> read_wire_dtype(WireContext& w, uint64_t number, const char* at);

}  // namespace emplace
