/// One TensorProto in protobuf's binary form, outside of any graph.
#pragma once

#include <string_view>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// Its own copy of the values. InvalidArgument says what is wrong with the message.
Result<Tensor> tensor_of_message(std::string_view message);

}  // namespace emplace
