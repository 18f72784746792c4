/// TensorProto messages in protobuf's binary form, as ops make and read them.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/tensor/tensor.h"

namespace emplace {

/// What a message says; the values lie in it.
struct SerializedTensor {
  DType type = DType::kInvalid;
  Shape shape;
  std::string_view content;  // all elements, as memory has them; else:
  std::string_view message;  // whose fields have them

  /// InvalidArgument: it is no such message, or of a type or shape that there is not.
  static Result<SerializedTensor> of(std::string_view message);
  /// `t`: of that type and shape. Where there are fewer values than elements the last one is repeated, or all are 0.
  Status copy_to(Tensor& t) const;
};

/// Numbers as bytes, texts as a field of their own each; `packs_texts`: these, too, as their lengths and bytes in one
/// field.
std::string serialize_tensor(const Tensor& t, bool packs_texts = false);

}  // namespace emplace
