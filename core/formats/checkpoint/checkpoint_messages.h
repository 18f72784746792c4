/// Messages that checkpoints of both versions are made of.
#pragma once

#include <string>

#include "core/base/status.h"
#include "core/formats/checkpoint/tensor_to_save.h"
#include "core/formats/proto/wire_writer.h"

namespace emplace {

/// A TensorShapeProto.
void put_shape(proto::WireWriter& writer, uint32_t field, const Shape& shape);
/// A TensorSliceProto. A dimension that the part has all of is said by its absence.
void put_slice(proto::WireWriter& writer, uint32_t field, const TensorSlice& slice, const Shape& whole);

/// The message as protobuf itself writes it.
std::string short_form(proto::Message message, const std::string& wire);

/// InvalidArgument: the value has not the shape of the part that it is said to be.
Status check_part(const TensorToSave& t);

}  // namespace emplace
