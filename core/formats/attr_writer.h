/// Attr values in protobuf's JSON mapping.
#pragma once

#include "core/base/json_writer.h"
#include "core/op/attr_value.h"

namespace emplace {

/// An AttrValue message; the attr's declared type is not needed to read it.
void write_attr_message(JsonWriter& json, const AttrValue& value);

}  // namespace emplace
