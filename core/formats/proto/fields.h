/// The messages of TensorFlow's and ONNX's graph files: the names, numbers and kinds of their fields. One table for all
/// who read and write them, in binary, in text and in JSON.
///
/// Facts of TensorFlow's .proto files (tensorflow/core/framework, tensorflow/core/protobuf,
/// tensorflow/core/util/saved_tensor_slice.proto), Copyright The TensorFlow Authors, Apache License 2.0:
/// core/formats/proto/NOTICE. Of onnx.proto (Copyright Contributors to the ONNX Project, Apache License 2.0) likewise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/formats/proto/messages.h"

namespace emplace::proto {

/// "NodeDef", and its fields by number.
std::string_view name_of(Message message);
std::span<const Field> fields_of(Message message);
/// Null if the message has no such field.
const Field* find_field(Message message, uint32_t number);
const Field* find_field(Message message, std::string_view name);

/// The name of an enumeration's number; empty if it has none.
std::string_view enum_name(Enum values, int64_t number);
/// False if there is no such name.
bool enum_number(Enum values, std::string_view name, int64_t& number);
/// "did you mean 'DT_FLOAT'?", or empty.
std::string near_enum_name(Enum values, std::string_view name);

}  // namespace emplace::proto
